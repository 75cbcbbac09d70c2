import { encounterKey } from '../../../src/domain/encounters/list.js';
import { cursorOf, keyOf, listCursor, placeOf, positionOf } from '../../../src/domain/transactions/listCursor.js';
import { onlyUuid } from '../../../src/domain/transactions/uuid.js';
import { refusalOf } from './world.js';

const invalid = ['cursor_invalid', undefined];
const encode = (text: string, encoding: BufferEncoding = 'utf8'): string =>
  Buffer.from(text, encoding).toString('base64url');
const id = '01a05c32-5e80-7000-8000-000000000001';
const time = new Date('2026-11-20T16:00:00.000Z');

describe('the cursor of a list', () => {
  it('names time and key of a row, or only its key', () => {
    expect(placeOf(listCursor(101_000n, time), encounterKey)).toEqual({ createdAt: time, key: '101000' });
    expect(keyOf(listCursor(id), onlyUuid)).toBe(id);
  });

  it.each([
    ['empty', ''],
    ['too long', 'A'.repeat(201)],
    ['in another alphabet', 'a+b='],
    ['garbage', 'garbage'],
    ['only two numbers', encode('12.34')],
    ['a time without a number', encode('2026-11-20T16:00:00.000Z')],
    ['an impossible time', encode('2026-13-45T16:00:00.000Z 101000')],
    ['a time in the year 0', encode('0000-01-01T00:00:00.000Z 101000')],
    ['a time in the year 12026', encode('+012026-11-20T16:00:00.000Z 101000')],
    ['a huge number', encode(`2026-11-20T16:00:00.000Z ${'9'.repeat(19)}`)],
    ['a number with a leading zero', encode('2026-11-20T16:00:00.000Z 0101000')],
    ['a time in another spelling', encode('2026-11-20T24:00:00.000Z 101000')],
    ['SQL', encode("2026-11-20T16:00:00.000Z 1' OR '1'='1")],
    ['cut off', encode('2026-11-20T16:00:00.000Z 101000').slice(0, -5)],
  ])('is refused if it is %s', (_what, cursor) => {
    expect(refusalOf(() => placeOf(cursor, encounterKey))).toEqual(invalid);
  });
});

describe('the cursor of a feed', () => {
  it('names the owner of the feed and a position', () => {
    expect(positionOf(cursorOf('lakeside', 7n), 'lakeside')).toBe(7n);
  });

  it.each([
    ['with bytes that are not text', encode('\xff', 'latin1')],
    ['without a number', encode('lakeside')],
    ['with a word instead of a number', encode('lakeside x')],
    ['with a negative number', encode('lakeside -1')],
    ['with too many digits', encode(`lakeside ${'9'.repeat(19)}`)],
    ['as that of listEncounters', listCursor(100_124n, time)],
    ['without a tenant', encode(' 0')],
    ['as that of another tenant', cursorOf('harbor', 0)],
    ['as that of another feed of the tenant', cursorOf('lakeside/audit', 0)],
  ])('is refused %s', (_what, cursor) => {
    expect(refusalOf(() => positionOf(cursor, 'lakeside'))).toEqual(invalid);
  });
});
