import { broken } from '../lab/locate.js';
import { planted } from '../lab/planted.js';

it('each planted fault matches its source text exactly once, and the test files that must notice it exist', () => {
  for (const fault of planted) expect(() => broken(fault)).not.toThrow();
});
