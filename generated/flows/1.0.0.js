// tests/consumer/consumer.ts
async function send(baseUrl, what, { token, json, form, raw, authorization, prefer } = {}) {
  const [method = "GET", path = "/"] = what.split(" ");
  const body = form ? new URLSearchParams(form).toString() : json === void 0 ? raw : JSON.stringify(json);
  const response = await fetch(baseUrl + path, {
    method,
    headers: {
      Accept: "application/json, application/problem+json",
      ...authorization ? { Authorization: authorization } : token ? { Authorization: `Bearer ${token}` } : {},
      ...body === void 0 ? {} : { "Content-Type": form ? "application/x-www-form-urlencoded" : "application/json" },
      ...prefer ? { Prefer: `code=${prefer[0]}, example=${prefer[1]}` } : {}
    },
    ...body === void 0 ? {} : { body }
  });
  const answer = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(answer), text: answer };
}
var uuid = openExpect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
var instant = openExpect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
var decimal = openExpect.stringMatching(/^\d+\.\d\d$/);
var text = openExpect.any(String);
var number = openExpect.any(Number);
var boolean = openExpect.any(Boolean);
var listOf = (element) => openExpect.arrayOf(element);
var orNull = (value) => ({
  asymmetricMatch(given) {
    if (given !== null) openExpect(given).toEqual(value);
    return true;
  }
});
function expectSuccess({ status, headers, body }, wanted) {
  openExpect({ status, body }).toEqual({ status: wanted, body: openExpect.anything() });
  openExpect(headers.get("Content-Type")).toMatch(/^application\/json/);
  expectCommonHeaders(headers);
}
function expectProblem({ status, headers, body }, wanted, code) {
  openExpect({ status, body }).toMatchObject({
    status: wanted,
    body: {
      type: `urn:clinical-encounter:problem:${code}`,
      title: text,
      status: wanted,
      detail: text,
      instance: `urn:uuid:${body.request_id}`,
      code,
      doc_url: `/docs#/section/errors/${code}`,
      request_id: uuid
    }
  });
  openExpect(headers.get("Content-Type")).toMatch(/^application\/(problem\+)?json/);
  expectCommonHeaders(headers);
  if (wanted === 401 || wanted === 403) openExpect(headers.get("WWW-Authenticate")).toMatch(/^Bearer realm="/);
}
function expectCommonHeaders(headers) {
  openExpect(headers.get("X-Request-Id")).toEqual(uuid);
  openExpect(headers.get("API-Version")).toMatch(/^\d+\.\d+\.\d+(-rc\.\d+)?$/);
}

// tests/consumer/session.ts
import { randomUUID } from "node:crypto";
var nobody = "01a05c32-5e80-7fff-bfff-ffffffffffff";
var newPatient = () => ({
  firstName: "Mar\xEDa",
  lastName: "L\xF3pez",
  email: `maria.${randomUUID()}@example.com`,
  dateOfBirth: "1985-02-11",
  countryCode: "+1",
  phone: "5125550177",
  gender: "female"
});

// tests/consumer/shapes.ts
var stamps = { createdAt: instant, updatedAt: instant };
var authored = { ...stamps, createdBy: orNull(uuid), updatedBy: orNull(uuid) };
var anyObject = openExpect.any(Object);
var tokens = {
  access_token: openExpect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
  token_type: "Bearer",
  expires_in: number,
  refresh_token: text,
  refresh_token_expires_in: number
};
var clinicSummary = {
  id: uuid,
  legalName: text,
  displayName: text,
  email: text,
  tenantId: text,
  isActive: boolean,
  metadata: orNull(anyObject),
  ...stamps
};
var clinic = {
  ...clinicSummary,
  locations: listOf({
    id: uuid,
    clinicId: uuid,
    name: text,
    address1: text,
    address2: orNull(text),
    city: text,
    state: openExpect.stringMatching(/^[A-Z]{2}$/),
    postal: text,
    country: text,
    phone: orNull(text),
    timezone: orNull(text),
    isPrimary: boolean,
    isActive: boolean,
    ...stamps
  })
};
var midnight = openExpect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/);
var maybe = orNull(text);
var maybeId = orNull(uuid);
var patient = {
  user_id: uuid,
  firstName: text,
  lastName: text,
  email: text,
  dateOfBirth: midnight,
  sex: maybe,
  phone: openExpect.stringMatching(/^\d+$/),
  countryCode: text,
  isVerified: openExpect.stringMatching(/^(NOTVERIFIED|VERIFIED|INVITED)$/),
  address1: maybe,
  address2: maybe,
  cityId: maybeId,
  stateId: maybeId,
  countryId: maybeId,
  postal: maybe,
  metadata: orNull(anyObject),
  ...stamps
};
var patientRecord = {
  ...patient,
  timezone: maybe,
  locale: maybe,
  notes: maybe,
  emergencyContact: maybe,
  emergencyContactCode: maybe,
  emergencyContactName: maybe,
  employer: maybe,
  workMobile: maybe,
  maritalStatus: maybe,
  gfeStateId: maybeId,
  profileImageBlobPath: maybe,
  isHomeAddressSameAsShipping: boolean,
  verifierJobId: maybe,
  verifierInviteSentDate: orNull(instant),
  verifierResultMessage: maybe,
  verifierResponsePayload: orNull(anyObject),
  verifierReminderCount: number,
  commsUserId: maybe,
  state: orNull({ id: uuid, name: text, code: text, countryId: uuid }),
  adminUser: {
    id: uuid,
    email: text,
    phone: text,
    countryCode: text,
    otpExpiresAt: orNull(instant),
    name: text,
    isActive: boolean,
    isTemporaryPassword: boolean,
    lastPasswordReset: orNull(instant),
    createdAt: instant
  }
};
var productSummary = {
  id: uuid,
  sku: text,
  name: text,
  description: text,
  unitPrice: decimal,
  isActive: boolean,
  isDeleted: false,
  metadata: orNull(anyObject),
  pharmacyId: uuid,
  pharmacyName: text,
  productId: text,
  categoryId: uuid,
  subcategoryId: uuid,
  imageUrl: maybe,
  ...authored
};
var product = {
  ...productSummary,
  category: { id: uuid, categoryName: text, reviewOften: text, reviewRecurring: boolean, ...authored },
  subcategory: { id: uuid, categoryId: uuid, subCategoryName: text, ...authored },
  productRx: orNull(
    openExpect.objectContaining({
      id: uuid,
      productId: uuid,
      refills: number,
      rxQty: number,
      daysSupply: number,
      ...authored
    })
  ),
  clinicAvailability: listOf({
    id: uuid,
    productId: uuid,
    clinicId: uuid,
    isActive: boolean,
    clinic: clinicSummary,
    ...stamps
  }),
  productOffer: {
    id: uuid,
    productId: uuid,
    price: decimal,
    qty: number,
    qtyAlert: number,
    shippingType: text,
    shippingAmount: decimal,
    vendorCost: decimal,
    cogs: decimal,
    product: productSummary,
    offerVariants: listOf({
      id: uuid,
      productOfferId: uuid,
      name: text,
      sku: text,
      price: decimal,
      qty: number,
      isActive: boolean,
      ...stamps
    }),
    ...authored
  }
};
var meta = {
  total: number,
  page: number,
  limit: number,
  totalPages: number,
  hasNext: boolean,
  hasPrev: boolean
};
var upload = {
  message: text,
  documentId: uuid,
  fileUrl: openExpect.stringMatching(/^https?:\/\//),
  userDocument: {
    id: uuid,
    user_id: uuid,
    clientId: uuid,
    clinicId: null,
    storageProvider: text,
    container: text,
    blobPath: text,
    fileUrl: openExpect.stringMatching(/^https?:\/\//),
    contentType: text,
    sizeBytes: number,
    checksum: text,
    docType: text,
    fileName: text,
    metadata: { uploadedById: uuid, originalFilename: text },
    ...stamps
  }
};
var statusView = {
  encounter_id: number,
  gfe_no: openExpect.stringMatching(/^GFE-\d+$/),
  gfe_data: listOf({ category_name: text, sub_category_name: text, status: text })
};
var orderDetails = {
  order_no: openExpect.stringMatching(/^ORD-\d+$/),
  order_status: text,
  sub_total: number,
  grand_total: number,
  paid_amt: number,
  balance_amt: number,
  total_shipping_amt: number,
  created_date: openExpect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
};

// tests/consumer/accessSteps.ts
function accessSteps(session) {
  const { call, login } = session;
  describe("obtains tokens", () => {
    it("by JSON, by form and by HTTP Basic", async () => {
      const { clientId, clientSecret } = session.target;
      const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`;
      const ways = [
        { json: login() },
        { form: { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret } },
        { form: { grant_type: "client_credentials" }, authorization: basic }
      ];
      for (const way of ways) {
        const answer = await send(session.target.baseUrl, "POST /oauth/token", way);
        expectSuccess(answer, 200);
        openExpect(answer.body).toEqual(tokens);
        openExpect(answer.headers.get("Cache-Control")).toBe("no-store");
      }
    });
    it("anew with a refresh token", async () => {
      const {
        body: { refresh_token }
      } = await send(session.target.baseUrl, "POST /oauth/token", { json: login() });
      const answer = await send(session.target.baseUrl, "POST /oauth/token", {
        json: login({ grant_type: "refresh_token", refresh_token })
      });
      expectSuccess(answer, 200);
      openExpect(answer.body).toEqual(tokens);
    });
    it("for fewer permissions", async () => {
      const scope = "admin:clinic read:product";
      const answer = await send(session.target.baseUrl, "POST /oauth/token", {
        json: login({ scope }),
        prefer: [200, "narrowed"]
      });
      openExpect(answer.body).toEqual({ ...tokens, scope });
    });
    it.each([
      ["no grant", { grant_type: void 0 }, 400, "invalid_request"],
      ["another grant", { grant_type: "password" }, 400, "unsupported_grant_type"],
      ["a scope beyond its own", { scope: "everything" }, 400, "invalid_scope"],
      ["a wrong secret", { client_secret: "wrong" }, 401, "invalid_client"],
      ["a made-up refresh token", { grant_type: "refresh_token", refresh_token: "made-up" }, 401, "invalid_grant"]
    ])("is refused with %s", async (_what, change, status, error) => {
      const answer = await send(session.target.baseUrl, "POST /oauth/token", {
        json: login(change),
        prefer: [status, error]
      });
      openExpect(answer).toMatchObject({ status, body: { error, error_description: text } });
    });
    const guarded = [
      ["GET /clinics", {}],
      ["GET /tenants/products", {}],
      [`GET /clients/${nobody}`, {}],
      ["POST /clients", { json: newPatient() }],
      ["POST /encounters/status", { json: { encounter_id: 1 } }]
    ];
    it.each(guarded)("and needs one for %s", async (what, sent) => {
      expectProblem(await call(what, { ...sent, token: void 0 }), 401, "token_missing");
      expectProblem(
        await call(what, { ...sent, token: "garbage", prefer: [401, "token_invalid"] }),
        401,
        "token_invalid"
      );
    });
    it.each(guarded)("and needs the permission for %s", async (what, sent) => {
      const { body } = await send(session.target.baseUrl, "POST /oauth/token", {
        json: login({ scope: "write:document" })
      });
      const answer = await call(what, { ...sent, token: body.access_token, prefer: [403, "insufficient_permission"] });
      expectProblem(answer, 403, "insufficient_permission");
    });
  });
}

// tests/consumer/encounterSteps.ts
function encounterSteps(session) {
  const { call, found, hasDocument, hasOrder } = session;
  const encounter = (changes = {}) => ({
    clinicId: found.clinicId,
    patientId: found.patientId,
    treatmentIds: [found.treatmentId],
    reviewType: "asynchronous",
    serviceQueue: "provider_network",
    ...changes
  });
  describe("uploads a document", () => {
    const path = (id, type) => `POST /clients-documents/${id}/upload-url/${type}`;
    (hasDocument ? it : it.skip)("by its URL", async () => {
      const answer = await call(path(found.patientId, "intake-forms"), { json: { url: session.target.documentUrl } });
      expectSuccess(answer, 200);
      openExpect(answer.body).toEqual(upload);
      const { documentId, fileUrl, userDocument } = answer.body;
      openExpect(userDocument).toMatchObject({
        id: documentId,
        user_id: found.patientId,
        clientId: found.patientId,
        fileUrl,
        docType: "intake-forms",
        contentType: "application/pdf"
      });
      found.documentId = documentId;
    });
    it.each([
      ["a patient that is not there", nobody, 401, "patient_access_denied"],
      ["an id that is none", "not-an-id", 400, "validation_failed"]
    ])("is refused with %s", async (_what, id, status, code) => {
      const answer = await call(path(id, "id-card"), {
        json: { url: "https://files.example/card.png" },
        prefer: [status, code]
      });
      expectProblem(answer, status, code);
    });
    it.each([
      ["a URL that is none", "card.png", "document_url_invalid"],
      ["a URL that is not public", "https://127.0.0.1/card.png", "document_url_forbidden"],
      ["a URL that is not https", "http://files.example/card.png", "document_url_forbidden"]
    ])("is refused with %s", async (_what, url, code) => {
      expectProblem(await call(path(found.patientId, "id-card"), { json: { url }, prefer: [400, code] }), 400, code);
    });
    it("is refused as a type of document that is not known", async () => {
      const answer = await call(path(found.patientId, "selfies"), { json: { url: "https://files.example/me.png" } });
      expectProblem(answer, 400, "validation_failed");
    });
  });
  describe("creates an encounter", () => {
    it("and reads it at its address, and its status by both its numbers", async () => {
      const documentIds = hasDocument ? [found.documentId] : [];
      const schedule = { scheduledDay: "2030-12-02", scheduledTime: "14:30:00", scheduledTimeZone: "America/Chicago" };
      const created = await call("POST /encounters", { json: encounter({ documentIds, ...schedule }) });
      expectSuccess(created, 201);
      const { encounter_id, gfe_no, status, gfe_data } = created.body;
      openExpect({ status, gfe_no, gfe_data }).toEqual({
        status: "pending_review",
        gfe_no: `GFE-${encounter_id}`,
        gfe_data: listOf(openExpect.objectContaining({ status: "pending_review" }))
      });
      openExpect(created.headers.get("Location")).toBe(`/encounters/${encounter_id}`);
      const record = await call(`GET ${created.headers.get("Location")}`);
      expectSuccess(record, 200);
      openExpect(record.body).toMatchObject(created.body);
      for (const json of [{ encounter_id }, { gfe_no }, { encounter_id, gfe_no }]) {
        const answer = await call("POST /encounters/status", { json });
        expectSuccess(answer, 200);
        openExpect(answer.body).toEqual({ ...statusView, encounter_id, gfe_no });
      }
    });
    (hasOrder ? it : it.skip)("and once it is completed, sees its order by the order number", async () => {
      const answer = await call("POST /encounters/status", {
        json: { order_no: session.target.orderNo },
        prefer: [200, "approved"]
      });
      expectSuccess(answer, 200);
      openExpect(answer.body).toEqual({
        ...statusView,
        order_details: { ...orderDetails, order_no: session.target.orderNo }
      });
    });
    it.each([
      ["a clinic that is not there", { clinicId: nobody }, 404, "clinic_not_found"],
      ["a patient that is not there", { patientId: nobody }, 404, "patient_not_found"],
      ["a treatment that is not there", { treatmentIds: [nobody] }, 404, "treatment_not_found"],
      ["a document that is not there", { documentIds: [nobody] }, 404, "document_not_found"],
      ["no treatment", { treatmentIds: [] }, 400, "validation_failed"],
      ["another queue", { serviceQueue: "own" }, 400, "validation_failed"],
      ["an unknown field", { documentId: nobody }, 400, "validation_failed"],
      ["a time without a day", { scheduledTime: "14:30:00" }, 400, "schedule_incomplete"],
      [
        "an offset as a time zone",
        { scheduledDay: "2030-12-02", scheduledTimeZone: "+05:30" },
        400,
        "schedule_time_zone_unknown"
      ]
    ])("is refused with %s", async (_what, change, status, code) => {
      expectProblem(await call("POST /encounters", { json: encounter(change), prefer: [status, code] }), status, code);
    });
    (hasDocument ? it : it.skip)("is refused with a document of another patient", async () => {
      const {
        body: { user_id: patientId }
      } = await call("POST /clients", { json: newPatient() });
      const json = encounter({ patientId, documentIds: [found.documentId] });
      const answer = await call("POST /encounters", { json, prefer: [409, "document_patient_mismatch"] });
      expectProblem(answer, 409, "document_patient_mismatch");
    });
    it.each([
      ["no identifier", {}, 400, "identifier_required"],
      ["a text as its number", { encounter_id: "5" }, 400, "validation_failed"],
      ["a malformed number", { gfe_no: "5" }, 400, "validation_failed"],
      ["a number that nobody has", { encounter_id: 999999999 }, 404, "encounter_not_found"],
      ["a GFE number that nobody has", { gfe_no: "GFE-999999999" }, 404, "encounter_not_found"],
      ["an order number that nobody has", { order_no: "ORD-999999999" }, 404, "encounter_not_found"]
    ])("asks in vain for the status with %s", async (_what, json, status, code) => {
      expectProblem(await call("POST /encounters/status", { json, prefer: [status, code] }), status, code);
    });
    it("asks in vain for a record that is not there", async () => {
      expectProblem(
        await call("GET /encounters/999999999", { prefer: [404, "encounter_not_found"] }),
        404,
        "encounter_not_found"
      );
      expectProblem(await call("GET /encounters/first"), 400, "validation_failed");
    });
  });
}

// tests/consumer/patientSteps.ts
function patientSteps({ call, found }) {
  describe("resolves a clinic", () => {
    it("from the list, and by a search for it", async () => {
      const list = await call("GET /clinics?isActive=true&limit=5");
      expectSuccess(list, 200);
      openExpect(list.body).toEqual({
        data: listOf(clinic),
        pagination: { total: number, page: number, limit: number, totalPages: number },
        stats: { total: number, active: number, inactive: number }
      });
      found.clinicId = list.body.data[0].id;
      const search = encodeURIComponent(list.body.data[0].legalName);
      const again = await call(`GET /clinics?search=${search}&sort_by=name&sort_order=asc`);
      openExpect(again.body.data[0].id).toBe(found.clinicId);
    });
    it.each(["limit=101", "page=0", "isActive=maybe", "sort_by=size"])("is refused with %s", async (query) => {
      expectProblem(await call(`GET /clinics?${query}`), 400, "validation_failed");
    });
  });
  describe("creates a patient", () => {
    it("once; a second time is told so, and finds the first one by e-mail", async () => {
      const json = newPatient();
      const created = await call("POST /clients", { json });
      expectSuccess(created, 201);
      openExpect(created.body).toEqual({ ...patient, isVerified: "NOTVERIFIED" });
      openExpect(created.headers.get("Cache-Control")).toBe("no-store");
      const again = await call("POST /clients", {
        json: { ...json, firstName: "Mary" },
        prefer: [409, "patient_email_taken"]
      });
      expectProblem(again, 409, "patient_email_taken");
      const lookup = await call(`GET /clients?email=${encodeURIComponent(json.email.toUpperCase())}`);
      expectSuccess(lookup, 200);
      openExpect(lookup.body).toEqual({ data: [patient], meta });
      openExpect(lookup.body.data[0].user_id).toBe(again.body.existing_user_id);
      found.patientId = lookup.body.data[0].user_id;
    });
    it("and reads its whole record", async () => {
      const answer = await call(`GET /clients/${found.patientId}`);
      expectSuccess(answer, 200);
      openExpect(answer.body).toEqual(patientRecord);
      openExpect([answer.body.user_id, answer.body.adminUser.id]).toEqual([found.patientId, found.patientId]);
    });
    it("but finds none by an e-mail that nobody has", async () => {
      const answer = await call(`GET /clients?email=${nobody}@example.com`, { prefer: [200, "none"] });
      openExpect(answer).toMatchObject({ status: 200, body: { data: [], meta: { total: 0 } } });
    });
    it.each([
      ["a missing field", { lastName: void 0 }],
      ["a malformed e-mail", { email: "no e-mail" }],
      ["a malformed date", { dateOfBirth: "11.02.1985" }],
      ["a phone with other characters than digits", { phone: "(512) 555-0177" }],
      ["an unknown field", { nickname: "Mari" }]
    ])("is refused with %s", async (_what, change) => {
      const answer = await call("POST /clients", { json: { ...newPatient(), ...change } });
      expectProblem(answer, 400, "validation_failed");
      openExpect(answer.body.errors).toEqual(listOf(openExpect.objectContaining({ pointer: text, code: text, detail: text })));
    });
    it("is refused with malformed JSON", async () => {
      openExpect(await call("POST /clients", { raw: '{"firstName":' })).toMatchObject({ status: 400 });
    });
    it("does not find one that is not there", async () => {
      const answer = await call(`GET /clients/${nobody}`, { prefer: [404, "patient_not_found"] });
      expectProblem(answer, 404, "patient_not_found");
      expectProblem(await call("GET /clients/not-an-id"), 400, "validation_failed");
    });
  });
  describe("resolves a treatment", () => {
    it("from the list, and by its SKU", async () => {
      const list = await call("GET /tenants/products?isActive=true&limit=100");
      expectSuccess(list, 200);
      openExpect(list.body).toEqual({ data: listOf(product), meta });
      const everywhere = list.body.data.find(
        (one) => one.clinicAvailability.length === 0
      );
      found.treatmentId = everywhere.id;
      const bySku = await call(`GET /tenants/products?search=${encodeURIComponent(everywhere.sku)}&isActive=true`);
      openExpect(bySku.body.data.map((one) => one.id)).toContain(found.treatmentId);
    });
    it("is refused with a page that is too large", async () => {
      expectProblem(await call("GET /tenants/products?limit=101"), 400, "validation_failed");
    });
  });
}

// tests/consumer/partnerFlow.ts
function partnerFlow(name, { open, hasDocument, hasOrder }) {
  let target;
  let token;
  const session = {
    hasDocument,
    hasOrder,
    get target() {
      return target;
    },
    call: (what, sent = {}) => send(target.baseUrl, what, { token, ...sent }),
    login: (more = {}) => ({
      grant_type: "client_credentials",
      client_id: target.clientId,
      client_secret: target.clientSecret,
      ...more
    }),
    found: { clinicId: "", treatmentId: "", patientId: "", documentId: "" }
  };
  describe(`a partner of ${name}`, () => {
    beforeAll(async () => {
      target = await open();
      const { body } = await send(target.baseUrl, "POST /oauth/token", { json: session.login() });
      token = body.access_token;
    }, 6e4);
    afterAll(() => target.close());
    accessSteps(session);
    patientSteps(session);
    encounterSteps(session);
    it("finds what tells about the service", async () => {
      const parts = [
        ["/healthz", { status: "ok" }],
        [
          "/readyz",
          { status: "ready", checks: { database: "ok", objectStore: "ok", documentScanner: "off", disk: "ok" } }
        ],
        ["/.well-known/jwks.json", { keys: listOf(openExpect.objectContaining({ kty: "EC", alg: "ES256", kid: text })) }],
        ["/.well-known/oauth-authorization-server", openExpect.objectContaining({ token_endpoint: text, jwks_uri: text })]
      ];
      for (const [path, body] of parts) {
        const answer = await session.call(`GET ${path}`, { token: void 0 });
        expectSuccess(answer, 200);
        openExpect(answer.body).toEqual(body);
      }
    });
    it("is told of paths and methods that are not there", async () => {
      openExpect(await session.call("GET /no/such/path")).toMatchObject({
        status: 404,
        body: { status: 404, title: text }
      });
      openExpect(await session.call("DELETE /clinics")).toMatchObject({ status: 405, body: { status: 405, title: text } });
    });
  });
}
export {
  partnerFlow
};
