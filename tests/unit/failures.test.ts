import { UnknownOutcome } from '../../src/adapters/database/databaseErrors.js';
import { WrongStoreSetting } from '../../src/adapters/objects/objectStore.js';
import { describeCauses } from '../../src/failures.js';
import { TenantOverload } from '../../src/http/endpoint/tenantLimiter.js';

class Foreign extends Error {}

const own = [Error, TypeError, RangeError, TenantOverload, UnknownOutcome, WrongStoreSetting];

it.each(own.map((kind) => [kind.name, kind] as const))(
  'the log keeps the message of class %s, which contains no values',
  (_name, Kind) => {
    expect(describeCauses(new Kind('S3_REGION is wrong'))).toMatchObject([{ message: 'S3_REGION is wrong' }]);
  },
);

it.each([
  ['a library', new Foreign('key (email)=(jane@example.com)')],
  ['the system', Object.assign(new Error('no file /tmp/jane.pdf'), { code: 'ENOENT' })],
])('the log omits the message of an error of %s, which may quote values', (_source, error) => {
  expect(describeCauses(error)).toHaveLength(1);
  expect(JSON.stringify(describeCauses(error))).not.toContain('jane');
});
