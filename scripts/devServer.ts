/** What `make dev` runs after each change: what the contract or the schema makes necessary, then the server. */
import { execFileSync } from 'node:child_process';

execFileSync('make', ['--silent', 'generated/.fresh'], { stdio: 'inherit' });
await import('../src/main.js');
