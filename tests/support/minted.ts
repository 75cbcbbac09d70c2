/** Members that may differ between an answer and its example. Keys: an operation, or an operation and an example. */
export const minted: Readonly<Record<string, readonly string[]>> = {
  issueToken: ['access_token', 'refresh_token'],
  createPatient: ['user_id'],
  uploadPatientDocument: [
    'documentId',
    'id',
    'fileUrl',
    'storageProvider',
    'container',
    'blobPath',
    'sizeBytes',
    'checksum',
  ],
  'getEncounterStatus mixed': ['encounter_id', 'gfe_no', 'order_no'],
  createEncounter: ['id', 'encounter_id', 'gfe_no'],
  recordPayment: ['id'],
  refundPayment: ['id'],
  simulateVerification: ['verifierJobId'],
  submitReview: ['order_no'],
  simulateEncounter: ['order_no'],
  reorderTreatments: ['id', 'order_no'],
  listEvents: ['id', 'next_cursor'],
  createWebhookEndpoint: ['id', 'secret'],
  rotateWebhookSecret: ['secret'],
  pingWebhookEndpoint: ['eventId'],
  listWebhookDeliveries: ['eventId'],
  retryWebhookDelivery: ['eventId'],
  listAuditEvents: ['next_cursor'],
  listRequests: ['next_cursor', 'requestId'],
  getChart: ['fileUrl'],
  'getDocument linked': ['fileUrl'],
  getJwks: ['x', 'y', 'kid'],
};

/** The value with its minted members reduced to their types. */
export function reduced(value: unknown, names: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((element) => reduced(element, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      names.includes(name) ? typeof member : reduced(member, names),
    ]),
  );
}
