import type { Operation } from '../contract.js';

export const previewEncounter: Operation<'previewEncounter'> = () => Promise.reject(new Error('not built yet'));
