import type { Operation } from '../contract.js';

export const listEncounters: Operation<'listEncounters'> = () => Promise.reject(new Error('not built yet'));
