/** Our own rules for the contract: what Redocly's configurable rules cannot say. */
import { completion } from './completion.js';

/** The operationId is what people search for, so it is the first line of an operation. */
const operationIdFirst = () => ({
  Operation(operation, { report }) {
    if (Object.keys(operation)[0] !== 'operationId') report({ message: 'operationId comes first in an operation.' });
  },
});

const namedPermission = () => ({
  Operation({ security }, { report }) {
    if (security === undefined) report({ message: 'An operation names its permission, or [] if it is public.' });
  },
});

/** Without an example the mock invents values, and partners have nothing to look at. */
const exampleOfEachBody = () => ({
  MediaType(mediaType, { report }) {
    if (!Object.keys(mediaType.examples ?? {}).length) report({ message: 'A body has at least one named example.' });
  },
});

/** POSTs that only read, issue a token or empty the sandbox, its keys included. */
const withoutKey = ['issueToken', 'getEncounterStatus', 'previewEncounter', 'resetSandbox'];

/** A caller that lost the response repeats the request without repeating the change. */
const keyOfEachChange = () => ({
  Operation({ operationId, parameters = [] }, { report, resolve, key }) {
    const takesKey = parameters.some((parameter) => resolve(parameter).node.name === 'Idempotency-Key');
    if (takesKey === (['post', 'patch'].includes(key) && !withoutKey.includes(operationId))) return;
    report({ message: 'A POST or PATCH takes an Idempotency-Key if and only if it changes something (R-235).' });
  },
});

/** Calls `visit` with each schema of a request body or parameter, however deep, and with the place to report. */
const eachSchema = (node, location, resolve, visit) => {
  if (node.$ref) {
    const target = resolve(node, location.source.absoluteRef);
    return eachSchema(target.node, target.location, resolve, visit);
  }
  visit(node, location);
  const children = [
    ...Object.entries(node.properties ?? {}).map(([name, child]) => [child, location.child(['properties', name])]),
    ...(node.items ? [[node.items, location.child('items')]] : []),
    ...(node.allOf ?? []).map((child, index) => [child, location.child(['allOf', index])]),
  ];
  for (const [child, place] of children) eachSchema(child, place, resolve, visit);
};

const withNul = ['\u0000', 'a\u0000', 'https://a\u0000'];

/** PostgreSQL cannot store U+0000, and a text without a limit is a way to exhaust us. */
const faultsOfText = (schema) => {
  const closed = schema.enum || ['uuid', 'date', 'email'].includes(schema.format);
  if (closed || ![schema.type].flat().includes('string')) return [];
  const pattern = new RegExp(schema.pattern ?? '', 'u');
  const bounded = schema.maxLength !== undefined || !pattern.test('1'.repeat(1000));
  return [
    ...(bounded ? [] : ['A text of a request has a maxLength.']),
    ...(withNul.some((text) => pattern.test(text)) ? ['A text of a request refuses U+0000 by a pattern.'] : []),
  ];
};

const requestTexts = () => {
  const check = ({ schema }, { report, location, resolve }) =>
    eachSchema(schema, location.child('schema'), resolve, (node, place) => {
      for (const message of faultsOfText(node)) report({ message, location: place });
    });
  return { Parameter: check, RequestBody: { MediaType: check } };
};

/** A mistyped property that is dropped silently is a clinical risk (D-33). RFC 6749 §3.2 exempts token requests. */
const closedRequests = () => ({
  Operation: {
    RequestBody: {
      MediaType({ schema }, { report, location, resolve }, { Operation: { operationId } }) {
        if (operationId === 'issueToken') return;
        eachSchema(schema, location.child('schema'), resolve, (node, place) => {
          if (!node.properties || node.additionalProperties === false) return;
          report({ message: 'An object of a request has additionalProperties: false.', location: place });
        });
      },
    },
  },
});

/** Partners look at it, and write their receivers by it. */
const exampleOfEachWebhook = () => ({
  MediaType({ schema }, { report, resolve }) {
    if (!resolve(schema).node.examples?.length) report({ message: 'The schema of a webhook has an example.' });
  },
});

/** What a schema is, with what is said beside its `$ref`. */
const followed = (node, location, resolve) => {
  if (!node.$ref) return { node, location };
  const { $ref: _, ...own } = node;
  const target = resolve(node, location.source.absoluteRef);
  // Another rule reports a reference to nothing.
  if (!target.node) return { node: own, location };
  const end = followed(target.node, target.location, resolve);
  return { ...end, node: { ...end.node, ...own } };
};

const typesOf = ({ type }) => [type ?? []].flat().filter((name) => name !== 'null');
const isKnown = (value) => value !== null && value !== undefined;

/**
 * Says what a reader would miss: each property is described, each integer has a format, and each scalar is shown, by an
 * example of its own or by one of a body, which tests compare with what the service takes and gives.
 */
const completeSchemas = () => {
  const faults = new Map();
  const shown = new Set();
  const fault = (message, place) => faults.set(`${message} ${place.absolutePointer}`, { message, location: place });

  /** @param values what the examples of a body have at this place */
  const look = (schema, place, values, resolve) => {
    const { node, location } = followed(schema, place, resolve);
    const known = [...values, ...(node.examples ?? []), node.example, node.const].filter(isKnown);
    const [type] = typesOf(node);
    if (type === 'integer' && !node.format) fault('An integer has a format.', location);
    if (['string', 'integer', 'number', 'boolean'].includes(type)) {
      if (known.length > 0) shown.add(place.absolutePointer);
      else fault(NOT_SHOWN, place);
    }
    for (const [name, property] of Object.entries(node.properties ?? {})) {
      const at = location.child(['properties', name]);
      if (!followed(property, at, resolve).node.description) fault('A property has a description.', at);
      look(property, at, known.map((value) => value[name]).filter(isKnown), resolve);
    }
    if (node.items) look(node.items, location.child('items'), known.flat(), resolve);
    (node.allOf ?? []).forEach((part, index) => look(part, location.child(['allOf', index]), known, resolve));
    // A variant has examples of its own.
    (node.oneOf ?? []).forEach((part, index) => look(part, location.child(['oneOf', index]), [], resolve));
  };

  const single = ({ schema, example }, { location, resolve }) =>
    look(schema, location.child('schema'), [example], resolve);
  return {
    Parameter: single,
    Header: single,
    MediaType({ schema, examples = {} }, { location, resolve }) {
      const values = Object.values(examples).map((example) => followed(example, location, resolve).node.value);
      look(schema, location.child('schema'), values, resolve);
    },
    Root: {
      leave(_root, { report }) {
        for (const found of faults.values()) {
          if (found.message !== NOT_SHOWN || !shown.has(found.location.absolutePointer)) report(found);
        }
      },
    },
  };
};
const NOT_SHOWN = 'A value has an example, here or in an example of a body.';

/** Readers follow one order, that of a partner's work: of the tags, of their groups, and of the operations. */
const tagsInOrder = () => {
  const used = new Set();
  return {
    Paths: { Operation: ({ tags }) => tags.forEach((tag) => used.add(tag)) },
    Root: {
      leave({ tags, 'x-tagGroups': groups }, { report, location }) {
        const orders = [tags.map(({ name }) => name), groups.flatMap((group) => group.tags)];
        const wanted = [...used].join();
        if (orders.every((names) => names.filter((name) => used.has(name)).join() === wanted)) return;
        const message = `Tags and their groups are in the order of the operations: ${wanted}.`;
        report({ message, location: location.child('tags') });
      },
    },
  };
};

/** Of what the service answers. */
const rules = {
  'operation-id-first': operationIdFirst,
  'named-permission': namedPermission,
  'example-of-each-body': exampleOfEachBody,
  'key-of-each-change': keyOfEachChange,
  'request-texts': requestTexts,
  'closed-requests': closedRequests,
};

/** By name; what it looks for within a part of the contract. */
const within = (part, rulesOfPart) =>
  Object.fromEntries(Object.entries(rulesOfPart).map(([name, rule]) => [name, () => ({ [part]: rule() })]));

const all = {
  ...within('Paths', rules),
  ...within('WebhooksMap', { 'example-of-each-webhook': exampleOfEachWebhook }),
  'complete-schemas': completeSchemas,
  'tags-in-order': tagsInOrder,
};

export default () => ({
  id: 'contract',
  preprocessors: { oas3: { completion } },
  rules: { oas3: all },
  configs: {
    all: {
      preprocessors: { 'contract/completion': 'on' },
      rules: Object.fromEntries(Object.keys(all).map((name) => [`contract/${name}`, 'error'])),
    },
  },
});
