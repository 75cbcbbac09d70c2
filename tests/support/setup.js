import process from 'node:process';

// The runner's options are for the workers, not for the programs that tests start.
delete process.env.NODE_OPTIONS;
