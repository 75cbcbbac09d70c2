/**
 * Completes the contract as people write it: adds what follows from the rest, so that a file shows only what is special.
 * It runs before Redocly lints or bundles, so that every reader gets the complete contract. What an operation writes
 * itself stays.
 */

const REQUEST_ID = '01a1f9b8-cbc0-7000-8000-00000000f00d';

/** `invalid_state.order` is another example of the code `invalid_state`. */
const codeOf = (name) => name.split('.')[0];

/** Turns the rows of problems.yaml into examples. Another example of a code has its title, status and detail. */
const completeProblems = (problems) => {
  const rows = { ...problems };
  for (const [name, row] of Object.entries(rows)) {
    const code = codeOf(name);
    const { title, status, detail } = rows[code];
    const { summary = title, ...members } = { title, status, detail, ...row };
    const value = {
      type: `urn:clinical-encounter:problem:${code}`,
      instance: `urn:uuid:${REQUEST_ID}`,
      code,
      doc_url: `/docs#/section/errors/${code}`,
      request_id: REQUEST_ID,
      ...members,
    };
    problems[name] = { summary, value };
  }
};

const everyHeader = { 'X-Request-Id': 'XRequestId', 'API-Version': 'ApiVersion' };
const limitHeaders = { 'RateLimit-Policy': 'RateLimitPolicy', RateLimit: 'RateLimit' };

/** Adds headers, named with their files, and a body with the problems in `x-problems` as examples. */
const completeResponse = (response, folder, headers) => {
  const { 'x-problems': problems } = response;
  const added = Object.entries(headers).map(([name, file]) => [name, { $ref: `${folder}/headers/${file}.yaml` }]);
  response.headers = { ...Object.fromEntries(added), ...response.headers };
  if (!problems) return;
  const examples = problems.map((name) => [codeOf(name), { $ref: `${folder}/problems.yaml#/${name}` }]);
  const body = { schema: { $ref: `${folder}/schemas/Problem.yaml` }, examples: Object.fromEntries(examples) };
  // The same for callers with a strict `Accept: application/json`.
  response.content = { 'application/problem+json': body, 'application/json': body };
  delete response['x-problems'];
};

/** The shared response that documents 400. */
const badRequestOf = ({ isKeyed, hasBody, hasCursor }) => {
  if (isKeyed) return hasBody ? 'BadRequestIdempotent' : 'BadRequestKey';
  if (hasBody) return 'BadRequestBody';
  return hasCursor ? 'BadRequestCursor' : 'BadRequest';
};

/** By status, the shared responses of an operation. */
const sharedResponses = (traits) => ({
  400: badRequestOf(traits),
  ...(traits.isSecured ? { 401: 'Unauthorized', 403: 'Forbidden' } : {}),
  ...(traits.isKeyed ? { 409: 'IdempotencyConflict' } : {}),
  ...(traits.hasBody ? { 413: 'BodyTooLarge' } : {}),
  ...(traits.isSecured ? { 429: 'RateLimited', 500: 'InternalError', 503: 'DependencyUnavailable' } : {}),
});

/** The headers of a response that an operation writes itself. */
const headersOf = (status, { isKeyed, isSecured, isLimited }) => ({
  ...everyHeader,
  ...(isLimited && !(isSecured && status === '401') ? limitHeaders : {}),
  ...(isSecured && status < 300 ? { 'Cache-Control': 'CacheControlNoStore' } : {}),
  ...(isKeyed && status < 300 ? { 'Idempotent-Replayed': 'IdempotentReplayed' } : {}),
  ...(isKeyed && status === '409' ? { 'Retry-After': 'RetryAfterOptional' } : {}),
});

/** The problems of a 400. The first one is what the mock sends: for an empty body, the one that the schema names. */
const badRequests = (own, common, body) =>
  body['x-problem-codes'] ? [...own, ...common] : [...common, ...own];

const completeOperation = (operation, sharedProblems, resolve) => {
  const { security = [], requestBody, parameters = [], responses } = operation;
  const names = parameters.map((parameter) => resolve(parameter).node?.name);
  const isSecured = security.length > 0;
  const traits = {
    isSecured,
    isLimited: isSecured || '429' in responses,
    isKeyed: names.includes('Idempotency-Key'),
    hasBody: requestBody !== undefined,
    hasCursor: names.includes('cursor'),
  };
  if (isSecured) operation.parameters = [...parameters, { $ref: '../parameters/SandboxBehavior.yaml' }];
  const shared = sharedResponses(traits);
  const body = resolve(requestBody?.content['application/json']?.schema ?? {}).node ?? {};
  for (const [status, response] of Object.entries(responses)) {
    const problems = response['x-problems'];
    const common = sharedProblems[shared[status]];
    if (problems && status === '400') response['x-problems'] = badRequests(problems, common, body);
    if (problems && status === '409' && common) response['x-problems'] = [...problems, ...common];
    if (!response.$ref) completeResponse(response, '..', headersOf(status, traits));
  }
  for (const [status, name] of Object.entries(shared)) responses[status] ??= { $ref: `../responses.yaml#/${name}` };
};

/** Adds to the schema of an event what every event has. */
const completeEvent = (schema, type) => {
  const { properties } = schema;
  Object.assign(schema, {
    type: 'object',
    required: ['type', 'timestamp', 'data'],
    unevaluatedProperties: true,
    properties: {
      type: { type: 'string', description: 'The event type.', const: type },
      timestamp: { $ref: '../EventTime.yaml' },
      ...properties,
    },
  });
};

/** `gfe.expired` is "Approval expired". */
const summaryOf = (type) => {
  const words = type.replace(/^gfe/, 'approval').replaceAll(/[._]/g, ' ');
  return words[0].toUpperCase() + words.slice(1);
};

/** Makes a webhook of each event. */
const completeWebhooks = (webhooks, event, resolve) => {
  const { delivery } = webhooks;
  delete webhooks.delivery;
  for (const variant of event.node.oneOf) {
    const [, type] = /events\/(.+)\.yaml$/.exec(variant.$ref) ?? [];
    if (!type) continue;
    completeEvent(resolve(variant, event.location.source.absoluteRef).node, type);
    const schema = { $ref: `./schemas/events/${type}.yaml` };
    webhooks[type] = {
      post: {
        ...delivery.post,
        summary: summaryOf(type),
        description: { $ref: `${schema.$ref}#/description` },
        requestBody: { required: true, content: { 'application/json': { schema } } },
      },
    };
  }
};

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Applies the differences of one example to another. In lists of as many objects, each changes the one at its place. */
const merged = (like, changes) => {
  if (Array.isArray(like) && Array.isArray(changes) && like.length === changes.length && changes.every(isObject)) {
    return like.map((item, index) => merged(item, changes[index]));
  }
  if (!isObject(like) || !isObject(changes)) return changes;
  const values = Object.entries(changes).map(([name, value]) => [name, merged(like[name], value)]);
  return { ...like, ...Object.fromEntries(values) };
};

/** Turns an example that shows only how it differs from the one in `x-like` into a whole one. */
const completeExample = (example, from, resolve) => {
  const { 'x-like': like } = example;
  if (!like) return;
  const { node, location } = resolve(like, from);
  // Lint reports the reference.
  if (!node) return;
  completeExample(node, location.source.absoluteRef, resolve);
  example.value = merged(node.value, example.value);
  delete example['x-like'];
};

/** A preprocessor of Redocly. */
export const completion = () => {
  const sharedProblems = {};
  return {
    Root(root, { resolve }) {
      const { 'x-problems': problems, 'x-responses': responses, 'x-event': event, webhooks } = root;
      // A bundle is complete.
      if (!problems) return;
      completeProblems(resolve(problems).node);
      for (const [name, response] of Object.entries(resolve(responses).node)) {
        sharedProblems[name] = response['x-problems'];
        completeResponse(response, '.', name === 'Unauthorized' ? everyHeader : { ...everyHeader, ...limitHeaders });
      }
      completeWebhooks(resolve(webhooks).node, resolve(event), resolve);
      for (const name of ['x-problems', 'x-responses', 'x-event']) Reflect.deleteProperty(root, name);
    },
    Example: (example, { location, resolve }) => completeExample(example, location.source.absoluteRef, resolve),
    Paths: {
      Operation(operation, { resolve }) {
        if (Object.keys(sharedProblems).length > 0) completeOperation(operation, sharedProblems, resolve);
      },
    },
  };
};
