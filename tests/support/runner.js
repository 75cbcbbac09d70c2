import { createRunner } from 'jest-light-runner';

const ASKED = 'jest-light-runner-get-worker-data';
const GIVEN = 'jest-light-runner-worker-data';

/**
 * Answers each worker by a channel of its own. With the runner's one channel the first worker that asks is answered for
 * all, and one that does not listen yet waits for ever.
 */
export default class Runner extends createRunner({ runtime: 'child_process' }) {
  _runTest(test) {
    const { config: projectConfig } = test.context;
    const started = this._testRunners.get(projectConfig);
    if (!started) return super._runTest(test);
    const workerData = { globalConfig: this._globalConfig, projectConfig, runtime: this._runtime };
    let answer;
    const channel = {
      onMessage: (listener) => (answer = listener),
      postMessage: (message) => message === ASKED && answer({ type: GIVEN, workerData }),
    };
    return started.pool.run(test.path, { channel });
  }
}
