import Sequencer from '@jest/test-sequencer';

const folders = ['/tests/system/', '/tests/consistency/', '/tests/contract/'];
const rank = ({ path }) => folders.findIndex((folder) => path.includes(folder)) + 1 || folders.length + 1;

/** Runs the folders with the longest files first, so that none of these is alone at the end; those that start processes mostly wait. */
export default class LongFirst extends Sequencer {
  sort(tests) {
    return super.sort(tests).sort((one, other) => rank(one) - rank(other));
  }
}
