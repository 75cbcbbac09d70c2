/**
 * Run by `make dev` after each change: regenerates what the contract and the schema require, then starts the server.
 */
import { execFileSync } from 'node:child_process';

execFileSync('make', ['--silent', 'generated/.fresh'], { stdio: 'inherit' });
await import('../src/main.js');
