/** `make dev`: what a change of the contract or the schema makes necessary, then the server; tsx starts it anew. */
import { execFileSync } from 'node:child_process';

execFileSync('make', ['--silent', 'generated/.fresh'], { stdio: 'inherit' });
await import('../src/main.js');
