import { createRunner } from 'jest-light-runner';

const ASKED = 'jest-light-runner-get-worker-data';
const GIVEN = 'jest-light-runner-worker-data';

/**
 * Gives each worker a separate channel. On the runner's single channel the first request is answered for all workers,
 * and a worker that does not listen yet waits forever.
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
