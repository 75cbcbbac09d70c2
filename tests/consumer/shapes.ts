import { boolean, decimal, instant, listOf, number, orNull, text, uuid } from './consumer.js';

// The documented shapes of responses, written independently of the contract from a partner's side.

const stamps = { createdAt: instant, updatedAt: instant };
const authored = { ...stamps, createdBy: orNull(uuid), updatedBy: orNull(uuid) };
const anyObject = expect.any(Object);

export const tokens = {
  access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
  token_type: 'Bearer',
  expires_in: number,
  refresh_token: text,
  refresh_token_expires_in: number,
};

const clinicSummary = {
  id: uuid,
  legalName: text,
  displayName: text,
  email: text,
  tenantId: text,
  isActive: boolean,
  metadata: orNull(anyObject),
  ...stamps,
};

export const clinic = {
  ...clinicSummary,
  locations: listOf({
    id: uuid,
    clinicId: uuid,
    name: text,
    address1: text,
    address2: orNull(text),
    city: text,
    state: expect.stringMatching(/^[A-Z]{2}$/),
    postal: text,
    country: text,
    phone: orNull(text),
    timezone: orNull(text),
    isPrimary: boolean,
    isActive: boolean,
    ...stamps,
  }),
};

const midnight = expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/);
const maybe = orNull(text);
const maybeId = orNull(uuid);

export const patient = {
  user_id: uuid,
  firstName: text,
  lastName: text,
  email: text,
  dateOfBirth: midnight,
  sex: maybe,
  phone: expect.stringMatching(/^\d+$/),
  countryCode: text,
  isVerified: expect.stringMatching(/^(NOTVERIFIED|VERIFIED|INVITED)$/),
  address1: maybe,
  address2: maybe,
  cityId: maybeId,
  stateId: maybeId,
  countryId: maybeId,
  postal: maybe,
  metadata: orNull(anyObject),
  ...stamps,
};

export const patientRecord = {
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
    createdAt: instant,
  },
};

const productSummary = {
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
  ...authored,
};

export const product = {
  ...productSummary,
  category: { id: uuid, categoryName: text, reviewOften: text, reviewRecurring: boolean, ...authored },
  subcategory: { id: uuid, categoryId: uuid, subCategoryName: text, ...authored },
  productRx: orNull(
    expect.objectContaining({
      id: uuid,
      productId: uuid,
      refills: number,
      rxQty: number,
      daysSupply: number,
      ...authored,
    }),
  ),
  clinicAvailability: listOf({
    id: uuid,
    productId: uuid,
    clinicId: uuid,
    isActive: boolean,
    clinic: clinicSummary,
    ...stamps,
  }),
  clinicAvailabilityTotal: number,
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
      ...stamps,
    }),
    ...authored,
  },
};

export const meta = {
  total: number,
  page: number,
  limit: number,
  totalPages: number,
  hasNext: boolean,
  hasPrev: boolean,
};

export const upload = {
  message: text,
  documentId: uuid,
  fileUrl: expect.stringMatching(/^https?:\/\//),
  userDocument: {
    id: uuid,
    user_id: uuid,
    clientId: uuid,
    clinicId: null,
    storageProvider: text,
    container: text,
    blobPath: text,
    fileUrl: expect.stringMatching(/^https?:\/\//),
    contentType: text,
    sizeBytes: number,
    checksum: text,
    docType: text,
    fileName: text,
    metadata: { uploadedById: uuid, originalFilename: text },
    ...stamps,
  },
};

export const statusView = {
  encounter_id: number,
  gfe_no: expect.stringMatching(/^GFE-\d+$/),
  gfe_data: listOf({ category_name: text, sub_category_name: text, status: text }),
};

export const orderDetails = {
  order_no: expect.stringMatching(/^ORD-\d+$/),
  order_status: text,
  sub_total: number,
  grand_total: number,
  paid_amt: number,
  balance_amt: number,
  total_shipping_amt: number,
  created_date: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
};
