import Sequencer from '@jest/test-sequencer';

const isSystem = ({ path }) => path.includes('/tests/system/');

/** Runs the files that start processes first, because they take longest and mostly wait. */
export default class SystemFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    return [...sorted.filter(isSystem), ...sorted.filter((test) => !isSystem(test))];
  }
}
