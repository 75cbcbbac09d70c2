// Inputs with one fault each, and a mark at the fault.

/** Bodies that are not JSON, or that no operation accepts. */
export const bodies = (mark: string): string[] => [
  `{"firstName":"${mark}`,
  `{"firstName":${mark}}`,
  mark,
  `"${mark}"`,
  `["${mark}"]`,
  `{"a":"${mark}\\ud800"}`,
  `{"a":"${mark}\u0007"}`,
];

/** Addresses from which no document can be fetched. */
export const documentUrls = (mark: string, host: string): string[] => [
  `https://${mark}.invalid/x`,
  `https://${mark}:${mark}@host/x`,
  `ftp://${mark}/`,
  mark,
  `http://${host}/${mark}-missing`,
];

export const targets = (mark: string): string[] => [
  `GET /${mark}`,
  `GET /clients/${mark}`,
  `GET /clients?email=${mark}`,
  `GET /clients?${mark}%20=1`,
  `GET /clinics?page=${mark}`,
  `GET /clinics?sort_by=${mark}`,
  `GET /encounters/${mark}`,
  `GET /files/${mark}`,
  `PUT /clients/${mark}`,
  `POST /clients-documents/${mark}/upload-url/${mark}`,
];
