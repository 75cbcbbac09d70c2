import type { Permission } from '../../contract.js';

/** All permissions: exact matches, no wildcards; none implies another. */
export const permissions = [
  'admin:clinic',
  'read:client',
  'write:client',
  'read:document',
  'write:document',
  'read:product',
  'write:encounter',
  'read:encounter',
  'read:order',
  'write:order',
  'read:event',
  'admin:webhook',
  'read:audit',
  'write:fulfilment',
  'read:dispensing',
  'review:encounter',
  'sandbox:simulate',
] as const satisfies readonly Permission[];

/** The permissions of each kind of API client. In a sandbox, a partner's client may also simulate reviews. */
export const presets = {
  partner: [
    'admin:clinic',
    'read:client',
    'write:client',
    'read:document',
    'write:document',
    'read:product',
    'write:encounter',
    'read:encounter',
    'read:order',
    'read:event',
    'admin:webhook',
    'read:audit',
  ],
  provider: ['review:encounter', 'read:encounter', 'read:event', 'admin:webhook'],
  billing: ['read:order', 'write:order', 'read:event', 'admin:webhook'],
  pharmacy: ['read:order', 'write:fulfilment', 'read:dispensing', 'read:event', 'admin:webhook'],
} as const satisfies Record<string, readonly Permission[]>;

export type Preset = keyof typeof presets;

export function isPermission(text: string): text is Permission {
  return permissions.some((permission) => permission === text);
}

export function presetPermissions(preset: Preset, mode: 'live' | 'sandbox'): Permission[] {
  return preset === 'partner' && mode === 'sandbox' ? [...presets.partner, 'sandbox:simulate'] : [...presets[preset]];
}
