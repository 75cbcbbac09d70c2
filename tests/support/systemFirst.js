import Sequencer from '@jest/test-sequencer';

const isSystem = ({ path }) => path.includes('/tests/system/');

/** Begins with the files that start processes: they wait most of the time, and last longest. */
export default class SystemFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    return [...sorted.filter(isSystem), ...sorted.filter((test) => !isSystem(test))];
  }
}
