// tests/consumer/consumer.ts
async function send(baseUrl, target, { token, json, form, raw, authorization, prefer } = {}) {
  const [method = "GET", path = "/"] = target.split(" ");
  const body = form ? new URLSearchParams(form).toString() : json === void 0 ? raw : JSON.stringify(json);
  const bearer = token ? `Bearer ${token}` : void 0;
  const sent = {
    Accept: "application/json, application/problem+json",
    Authorization: authorization ?? bearer,
    "Content-Type": form ? "application/x-www-form-urlencoded" : body === void 0 ? void 0 : "application/json",
    Prefer: prefer && `code=${prefer[0]}, example=${prefer[1]}`
  };
  const headers = Object.entries(sent).flatMap(([name, value]) => value ? [[name, value]] : []);
  const response = await fetch(baseUrl + path, { method, headers, ...body === void 0 ? {} : { body } });
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
function expectSuccess({ status, headers, body }, expected) {
  openExpect({ status, body }).toEqual({ status: expected, body: openExpect.anything() });
  openExpect(headers.get("Content-Type")).toMatch(/^application\/json/);
  expectCommonHeaders(headers);
}
function expectProblem({ status, headers, body }, expected, code) {
  openExpect({ status, body }).toMatchObject({
    status: expected,
    body: {
      type: `urn:clinical-encounter:problem:${code}`,
      title: text,
      status: expected,
      detail: text,
      instance: `urn:uuid:${body.request_id}`,
      code,
      doc_url: `/docs#/section/errors/${code}`,
      request_id: uuid
    }
  });
  openExpect(headers.get("Content-Type")).toMatch(/^application\/(problem\+)?json/);
  expectCommonHeaders(headers);
  if (expected === 401 || expected === 403) openExpect(headers.get("WWW-Authenticate")).toMatch(/^Bearer realm="/);
}
function expectCommonHeaders(headers) {
  openExpect(headers.get("X-Request-Id")).toEqual(uuid);
  openExpect(headers.get("API-Version")).toMatch(/^\d+\.\d+\.\d+(-rc\.\d+)?$/);
}

// tests/consumer/session.ts
import { randomUUID } from "node:crypto";
var unknownId = "01a05c32-5e80-7fff-bfff-ffffffffffff";
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
var all = (shape, names) => Object.fromEntries(names.split(" ").map((name) => [name, shape]));
var maybe = orNull(text);
var maybeId = orNull(uuid);
var anyObject = openExpect.any(Object);
var url = openExpect.stringMatching(/^https?:\/\//);
var stamps = all(instant, "createdAt updatedAt");
var authored = { ...stamps, ...all(maybeId, "createdBy updatedBy") };
var tokens = {
  access_token: openExpect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
  token_type: "Bearer",
  refresh_token: text,
  ...all(number, "expires_in refresh_token_expires_in")
};
var clinicSummary = {
  id: uuid,
  ...all(text, "legalName displayName email tenantId"),
  isActive: boolean,
  metadata: orNull(anyObject),
  ...stamps
};
var clinic = {
  ...clinicSummary,
  locations: listOf({
    ...all(uuid, "id clinicId"),
    ...all(text, "name address1 city postal country"),
    ...all(maybe, "address2 phone timezone"),
    state: openExpect.stringMatching(/^[A-Z]{2}$/),
    ...all(boolean, "isPrimary isActive"),
    ...stamps
  })
};
var patient = {
  user_id: uuid,
  ...all(text, "firstName lastName email countryCode"),
  dateOfBirth: openExpect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/),
  phone: openExpect.stringMatching(/^\d+$/),
  isVerified: openExpect.stringMatching(/^(NOTVERIFIED|VERIFIED|INVITED)$/),
  ...all(maybe, "sex address1 address2 postal"),
  ...all(maybeId, "cityId stateId countryId"),
  metadata: orNull(anyObject),
  ...stamps
};
var patientRecord = {
  ...patient,
  ...all(maybe, "timezone locale notes emergencyContact emergencyContactCode emergencyContactName employer workMobile"),
  ...all(maybe, "maritalStatus profileImageBlobPath verifierJobId verifierResultMessage commsUserId"),
  gfeStateId: maybeId,
  isHomeAddressSameAsShipping: boolean,
  verifierInviteSentDate: orNull(instant),
  verifierResponsePayload: orNull(anyObject),
  verifierReminderCount: number,
  state: orNull({ ...all(uuid, "id countryId"), ...all(text, "name code") }),
  adminUser: {
    id: uuid,
    ...all(text, "email phone countryCode name"),
    ...all(orNull(instant), "otpExpiresAt lastPasswordReset"),
    ...all(boolean, "isActive isTemporaryPassword"),
    createdAt: instant
  }
};
var productSummary = {
  ...all(uuid, "id pharmacyId categoryId subcategoryId"),
  ...all(text, "sku name description pharmacyName productId"),
  unitPrice: decimal,
  isActive: boolean,
  isDeleted: false,
  metadata: orNull(anyObject),
  imageUrl: maybe,
  ...authored
};
var product = {
  ...productSummary,
  category: { id: uuid, ...all(text, "categoryName reviewOften"), reviewRecurring: boolean, ...authored },
  subcategory: { ...all(uuid, "id categoryId"), subCategoryName: text, ...authored },
  productRx: orNull(
    openExpect.objectContaining({ ...all(uuid, "id productId"), ...all(number, "refills rxQty daysSupply"), ...authored })
  ),
  clinicAvailability: listOf({
    ...all(uuid, "id productId clinicId"),
    isActive: boolean,
    clinic: clinicSummary,
    ...stamps
  }),
  clinicAvailabilityTotal: number,
  productOffer: {
    ...all(uuid, "id productId"),
    ...all(decimal, "price shippingAmount vendorCost cogs"),
    ...all(number, "qty qtyAlert"),
    shippingType: text,
    product: productSummary,
    offerVariants: listOf({
      ...all(uuid, "id productOfferId"),
      ...all(text, "name sku"),
      price: decimal,
      qty: number,
      isActive: boolean,
      ...stamps
    }),
    ...authored
  }
};
var meta = { ...all(number, "total page limit totalPages"), ...all(boolean, "hasNext hasPrev") };
var upload = {
  message: text,
  documentId: uuid,
  fileUrl: url,
  userDocument: {
    ...all(uuid, "id user_id clientId"),
    clinicId: null,
    ...all(text, "storageProvider container blobPath contentType checksum docType fileName"),
    fileUrl: url,
    sizeBytes: number,
    metadata: { uploadedById: uuid, originalFilename: text },
    ...stamps
  }
};
var statusView = {
  encounter_id: number,
  gfe_no: openExpect.stringMatching(/^GFE-\d+$/),
  gfe_data: listOf(all(text, "category_name sub_category_name status"))
};
var orderDetails = {
  order_no: openExpect.stringMatching(/^ORD-\d+$/),
  order_status: text,
  ...all(number, "sub_total grand_total paid_amt balance_amt total_shipping_amt"),
  created_date: openExpect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
};

// tests/consumer/accessSteps.ts
function accessSteps(session) {
  const { call, login } = session;
  const issue = (sent) => send(session.target.baseUrl, "POST /oauth/token", sent);
  describe("tokens", () => {
    it("obtains tokens by JSON, by form and by HTTP Basic", async () => {
      const { clientId, clientSecret } = session.target;
      const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`;
      const ways = [
        { json: login() },
        { form: { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret } },
        { form: { grant_type: "client_credentials" }, authorization: basic }
      ];
      for (const way of ways) {
        const answer = await issue(way);
        expectSuccess(answer, 200);
        openExpect(answer.body).toEqual(tokens);
        openExpect(answer.headers.get("Cache-Control")).toBe("no-store");
      }
    });
    it("renews tokens with a refresh token", async () => {
      const { refresh_token } = (await issue({ json: login() })).body;
      const answer = await issue({ json: login({ grant_type: "refresh_token", refresh_token }) });
      expectSuccess(answer, 200);
      openExpect(answer.body).toEqual(tokens);
    });
    it("obtains a token with fewer permissions", async () => {
      const scope = "admin:clinic read:product";
      const answer = await issue({ json: login({ scope }), prefer: [200, "narrowed"] });
      openExpect(answer.body).toEqual({ ...tokens, scope });
    });
    it.each([
      ["no grant", { grant_type: void 0 }, 400, "invalid_request"],
      ["another grant", { grant_type: "password" }, 400, "unsupported_grant_type"],
      ["a scope that it does not have", { scope: "everything" }, 400, "invalid_scope"],
      ["a wrong secret", { client_secret: "wrong" }, 401, "invalid_client"],
      ["a made-up refresh token", { grant_type: "refresh_token", refresh_token: "made-up" }, 401, "invalid_grant"]
    ])("is refused a token with %s", async (_fault, change, status, error) => {
      const answer = await issue({ json: login(change), prefer: [status, error] });
      openExpect(answer).toMatchObject({ status, body: { error, error_description: text } });
    });
    it.each([
      ["GET /clinics", {}],
      ["GET /tenants/products", {}],
      [`GET /clients/${unknownId}`, {}],
      ["POST /clients", { json: newPatient() }],
      ["POST /encounters/status", { json: { encounter_id: 1 } }]
    ])("needs a token with the permission for %s", async (target, sent) => {
      const expectRefused = async (token, status, code) => {
        const prefer = token === void 0 ? {} : { prefer: [status, code] };
        expectProblem(await call(target, { ...sent, token, ...prefer }), status, code);
      };
      await expectRefused(void 0, 401, "token_missing");
      await expectRefused("garbage", 401, "token_invalid");
      const { body } = await issue({ json: login({ scope: "write:document" }) });
      await expectRefused(body.access_token, 403, "insufficient_permission");
    });
  });
}

// tests/consumer/encounterSteps.ts
function encounterSteps(session) {
  const { call, ids, hasDocument, hasOrder } = session;
  const encounter = (changes = {}) => ({
    clinicId: ids.clinicId,
    patientId: ids.patientId,
    treatmentIds: [ids.treatmentId],
    reviewType: "asynchronous",
    serviceQueue: "provider_network",
    ...changes
  });
  describe("documents", () => {
    const path = (id, type) => `POST /clients-documents/${id}/upload-url/${type}`;
    (hasDocument ? it : it.skip)("uploads a document by its URL", async () => {
      const answer = await call(path(ids.patientId, "intake-forms"), { json: { url: session.target.documentUrl } });
      expectSuccess(answer, 200);
      openExpect(answer.body).toEqual(upload);
      const { documentId, fileUrl, userDocument } = answer.body;
      const owner = { user_id: ids.patientId, clientId: ids.patientId };
      const file = { fileUrl, docType: "intake-forms", contentType: "application/pdf" };
      openExpect(userDocument).toMatchObject({ id: documentId, ...owner, ...file });
      ids.documentId = documentId;
    });
    it.each([
      ["an unknown patient", { id: unknownId }, 401, "patient_access_denied"],
      ["a malformed id", { id: "not-an-id" }, 400, "validation_failed"],
      ["a malformed URL", { url: "card.png" }, 400, "document_url_invalid"],
      ["a URL that is not public", { url: "https://127.0.0.1/card.png" }, 400, "document_url_forbidden"],
      ["a URL that is not https", { url: "http://files.example/card.png" }, 400, "document_url_forbidden"],
      ["an unknown document type", { type: "selfies" }, 400, "validation_failed"]
    ])("is refused an upload with %s", async (_fault, { id, type, url: url2 }, status, code) => {
      const json = { url: url2 ?? "https://files.example/card.png" };
      const prefer = code === "validation_failed" ? {} : { prefer: [status, code] };
      const answer = await call(path(id ?? ids.patientId, type ?? "id-card"), { json, ...prefer });
      expectProblem(answer, status, code);
    });
  });
  describe("encounters", () => {
    it("creates an encounter, reads it at its Location, and reads its status by both numbers", async () => {
      const documentIds = hasDocument ? [ids.documentId] : [];
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
    (hasOrder ? it : it.skip)("reads the order of a completed encounter by its order number", async () => {
      const { orderNo: order_no } = session.target;
      const answer = await call("POST /encounters/status", { json: { order_no }, prefer: [200, "approved"] });
      expectSuccess(answer, 200);
      openExpect(answer.body).toEqual({ ...statusView, order_details: { ...orderDetails, order_no } });
    });
    const offset = { scheduledDay: "2030-12-02", scheduledTimeZone: "+05:30" };
    it.each([
      ["an unknown clinic", { clinicId: unknownId }, 404, "clinic_not_found"],
      ["an unknown patient", { patientId: unknownId }, 404, "patient_not_found"],
      ["an unknown treatment", { treatmentIds: [unknownId] }, 404, "treatment_not_found"],
      ["an unknown document", { documentIds: [unknownId] }, 404, "document_not_found"],
      ["no treatment", { treatmentIds: [] }, 400, "validation_failed"],
      ["another queue", { serviceQueue: "own" }, 400, "validation_failed"],
      ["an unknown field", { documentId: unknownId }, 400, "validation_failed"],
      ["a time without a day", { scheduledTime: "14:30:00" }, 400, "schedule_incomplete"],
      ["an offset as a time zone", offset, 400, "schedule_time_zone_unknown"]
    ])("is refused an encounter with %s", async (_fault, change, status, code) => {
      expectProblem(await call("POST /encounters", { json: encounter(change), prefer: [status, code] }), status, code);
    });
    (hasDocument ? it : it.skip)("is refused an encounter with a document of another patient", async () => {
      const { user_id: patientId } = (await call("POST /clients", { json: newPatient() })).body;
      const json = encounter({ patientId, documentIds: [ids.documentId] });
      const answer = await call("POST /encounters", { json, prefer: [409, "document_patient_mismatch"] });
      expectProblem(answer, 409, "document_patient_mismatch");
    });
    it.each([
      ["no identifier", {}, 400, "identifier_required"],
      ["a text as its number", { encounter_id: "5" }, 400, "validation_failed"],
      ["a malformed number", { gfe_no: "5" }, 400, "validation_failed"],
      ["an unknown number", { encounter_id: 999999999 }, 404, "encounter_not_found"],
      ["an unknown GFE number", { gfe_no: "GFE-999999999" }, 404, "encounter_not_found"],
      ["an unknown order number", { order_no: "ORD-999999999" }, 404, "encounter_not_found"]
    ])("is refused the status with %s", async (_fault, json, status, code) => {
      expectProblem(await call("POST /encounters/status", { json, prefer: [status, code] }), status, code);
    });
    it("gets 404 for an unknown encounter, and 400 for a malformed number", async () => {
      const answer = await call("GET /encounters/999999999", { prefer: [404, "encounter_not_found"] });
      expectProblem(answer, 404, "encounter_not_found");
      expectProblem(await call("GET /encounters/first"), 400, "validation_failed");
    });
  });
}

// tests/consumer/patientSteps.ts
function patientSteps({ call, ids }) {
  describe("clinics", () => {
    it("finds a clinic in the list and by a search", async () => {
      const list = await call("GET /clinics?isActive=true&limit=5");
      expectSuccess(list, 200);
      openExpect(list.body).toEqual({
        data: listOf(clinic),
        pagination: { total: number, page: number, limit: number, totalPages: number },
        stats: { total: number, active: number, inactive: number }
      });
      ids.clinicId = list.body.data[0].id;
      const search = encodeURIComponent(list.body.data[0].legalName);
      const again = await call(`GET /clinics?search=${search}&sort_by=name&sort_order=asc`);
      openExpect(again.body.data[0].id).toBe(ids.clinicId);
    });
    it.each(["limit=101", "page=0", "isActive=maybe", "sort_by=size"])(
      "is refused the list of clinics with %s",
      async (query) => {
        expectProblem(await call(`GET /clinics?${query}`), 400, "validation_failed");
      }
    );
  });
  describe("patients", () => {
    it("creates a patient once, gets 409 the second time, and finds the first by e-mail", async () => {
      const json = newPatient();
      const created = await call("POST /clients", { json });
      expectSuccess(created, 201);
      openExpect(created.body).toEqual({ ...patient, isVerified: "NOTVERIFIED" });
      openExpect(created.headers.get("Cache-Control")).toBe("no-store");
      const changed = { ...json, firstName: "Mary" };
      const again = await call("POST /clients", { json: changed, prefer: [409, "patient_email_taken"] });
      expectProblem(again, 409, "patient_email_taken");
      const lookup = await call(`GET /clients?email=${encodeURIComponent(json.email.toUpperCase())}`);
      expectSuccess(lookup, 200);
      openExpect(lookup.body).toEqual({ data: [patient], meta });
      openExpect(lookup.body.data[0].user_id).toBe(again.body.existing_user_id);
      ids.patientId = lookup.body.data[0].user_id;
    });
    it("reads the whole record of a patient", async () => {
      const answer = await call(`GET /clients/${ids.patientId}`);
      expectSuccess(answer, 200);
      openExpect(answer.body).toEqual(patientRecord);
      openExpect([answer.body.user_id, answer.body.adminUser.id]).toEqual([ids.patientId, ids.patientId]);
    });
    it("finds no patient by an unknown e-mail", async () => {
      const answer = await call(`GET /clients?email=${unknownId}@example.com`, { prefer: [200, "none"] });
      openExpect(answer).toMatchObject({ status: 200, body: { data: [], meta: { total: 0 } } });
    });
    it.each([
      ["a missing field", { lastName: void 0 }],
      ["a malformed e-mail", { email: "no e-mail" }],
      ["a malformed date", { dateOfBirth: "11.02.1985" }],
      ["a phone with other characters than digits", { phone: "(512) 555-0177" }],
      ["an unknown field", { nickname: "Mari" }]
    ])("is refused a patient with %s", async (_fault, change) => {
      const answer = await call("POST /clients", { json: { ...newPatient(), ...change } });
      expectProblem(answer, 400, "validation_failed");
      openExpect(answer.body.errors).toEqual(listOf(openExpect.objectContaining({ pointer: text, code: text, detail: text })));
    });
    it("gets 400 for malformed JSON", async () => {
      openExpect(await call("POST /clients", { raw: '{"firstName":' })).toMatchObject({ status: 400 });
    });
    it("gets 404 for an unknown patient, and 400 for a malformed id", async () => {
      const answer = await call(`GET /clients/${unknownId}`, { prefer: [404, "patient_not_found"] });
      expectProblem(answer, 404, "patient_not_found");
      expectProblem(await call("GET /clients/not-an-id"), 400, "validation_failed");
    });
  });
  describe("treatments", () => {
    it("finds a treatment in the list and by its SKU", async () => {
      const list = await call("GET /tenants/products?isActive=true&limit=100");
      expectSuccess(list, 200);
      openExpect(list.body).toEqual({ data: listOf(product), meta });
      const everywhere = list.body.data.find(
        (product2) => product2.clinicAvailability.length === 0
      );
      ids.treatmentId = everywhere.id;
      const bySku = await call(`GET /tenants/products?search=${encodeURIComponent(everywhere.sku)}&isActive=true`);
      openExpect(bySku.body.data.map(({ id }) => id)).toContain(ids.treatmentId);
    });
    it("is refused the list of treatments with a limit above 100", async () => {
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
    call: (operation, sent = {}) => send(target.baseUrl, operation, { token, ...sent }),
    login: (more = {}) => ({
      grant_type: "client_credentials",
      client_id: target.clientId,
      client_secret: target.clientSecret,
      ...more
    }),
    ids: { clinicId: "", treatmentId: "", patientId: "", documentId: "" }
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
    it("reads health, readiness, keys and token metadata", async () => {
      const checks = { database: "ok", objectStore: "ok", documentScanner: "off", disk: "ok" };
      const parts = [
        ["/healthz", { status: "ok", service: text, version: text }],
        ["/readyz", { status: "ready", checks }],
        ["/.well-known/jwks.json", { keys: listOf(openExpect.objectContaining({ kty: "EC", alg: "ES256", kid: text })) }],
        ["/.well-known/oauth-authorization-server", openExpect.objectContaining({ token_endpoint: text, jwks_uri: text })]
      ];
      for (const [path, body] of parts) {
        const answer = await session.call(`GET ${path}`, { token: void 0 });
        expectSuccess(answer, 200);
        openExpect(answer.body).toEqual(body);
      }
    });
    it("gets 404 for an unknown path, and 405 for an unknown method", async () => {
      const shown = (status) => ({ status, body: { status, title: text } });
      openExpect(await session.call("GET /no/such/path")).toMatchObject(shown(404));
      openExpect(await session.call("DELETE /clinics")).toMatchObject(shown(405));
    });
  });
}
export {
  partnerFlow
};
