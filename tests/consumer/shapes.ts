import { boolean, decimal, instant, listOf, number, orNull, text, uuid } from './consumer.js';

// The documented shapes of responses, written independently of the contract from a partner's side.

/** Members with these names, each of this shape. */
const all = (shape: unknown, names: string): Record<string, unknown> =>
  Object.fromEntries(names.split(' ').map((name) => [name, shape]));

const maybe = orNull(text);
const maybeId = orNull(uuid);
const anyObject = expect.any(Object);
const url = expect.stringMatching(/^https?:\/\//);
const stamps = all(instant, 'createdAt updatedAt');
const authored = { ...stamps, ...all(maybeId, 'createdBy updatedBy') };

export const tokens = {
  access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
  token_type: 'Bearer',
  refresh_token: text,
  ...all(number, 'expires_in refresh_token_expires_in'),
};

const clinicSummary = {
  id: uuid,
  ...all(text, 'legalName displayName email tenantId'),
  isActive: boolean,
  metadata: orNull(anyObject),
  ...stamps,
};

export const clinic = {
  ...clinicSummary,
  locations: listOf({
    ...all(uuid, 'id clinicId'),
    ...all(text, 'name address1 city postal country'),
    ...all(maybe, 'address2 phone timezone'),
    state: expect.stringMatching(/^[A-Z]{2}$/),
    ...all(boolean, 'isPrimary isActive'),
    ...stamps,
  }),
};

export const patient = {
  user_id: uuid,
  ...all(text, 'firstName lastName email countryCode'),
  dateOfBirth: expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/),
  phone: expect.stringMatching(/^\d+$/),
  isVerified: expect.stringMatching(/^(NOTVERIFIED|VERIFIED|INVITED)$/),
  ...all(maybe, 'sex address1 address2 postal'),
  ...all(maybeId, 'cityId stateId countryId'),
  metadata: orNull(anyObject),
  ...stamps,
};

export const patientRecord = {
  ...patient,
  ...all(maybe, 'timezone locale notes emergencyContact emergencyContactCode emergencyContactName employer workMobile'),
  ...all(maybe, 'maritalStatus profileImageBlobPath verifierJobId verifierResultMessage commsUserId'),
  gfeStateId: maybeId,
  ...all(maybe, 'medicalHistory insuranceInfo'),
  guardian: orNull(anyObject),
  isHomeAddressSameAsShipping: boolean,
  verifierInviteSentDate: orNull(instant),
  verifierResponsePayload: orNull(anyObject),
  verifierReminderCount: number,
  state: orNull({ ...all(uuid, 'id countryId'), ...all(text, 'name code') }),
  adminUser: {
    id: uuid,
    ...all(text, 'email phone countryCode name'),
    ...all(orNull(instant), 'otpExpiresAt lastPasswordReset'),
    ...all(boolean, 'isActive isTemporaryPassword'),
    createdAt: instant,
  },
};

const productSummary = {
  ...all(uuid, 'id pharmacyId categoryId subcategoryId'),
  ...all(text, 'sku name description pharmacyName productId'),
  unitPrice: decimal,
  isActive: boolean,
  isDeleted: false,
  metadata: orNull(anyObject),
  imageUrl: maybe,
  ...authored,
};

export const product = {
  ...productSummary,
  category: { id: uuid, ...all(text, 'categoryName reviewOften'), reviewRecurring: boolean, ...authored },
  subcategory: { ...all(uuid, 'id categoryId'), subCategoryName: text, ...authored },
  productRx: orNull(
    expect.objectContaining({ ...all(uuid, 'id productId'), ...all(number, 'refills rxQty daysSupply'), ...authored }),
  ),
  clinicAvailability: listOf({
    ...all(uuid, 'id productId clinicId'),
    isActive: boolean,
    clinic: clinicSummary,
    ...stamps,
  }),
  clinicAvailabilityTotal: number,
  minAge: orNull(number),
  synchronousOnly: boolean,
  productOffer: {
    ...all(uuid, 'id productId'),
    ...all(decimal, 'price shippingAmount vendorCost cogs'),
    ...all(number, 'qty qtyAlert'),
    shippingType: text,
    product: productSummary,
    offerVariants: listOf({
      ...all(uuid, 'id productOfferId'),
      ...all(text, 'name sku'),
      price: decimal,
      qty: number,
      isActive: boolean,
      ...stamps,
    }),
    ...authored,
  },
};

export const meta = { ...all(number, 'total page limit totalPages'), ...all(boolean, 'hasNext hasPrev') };

export const upload = {
  message: text,
  documentId: uuid,
  fileUrl: url,
  userDocument: {
    ...all(uuid, 'id user_id clientId'),
    clinicId: null,
    ...all(text, 'storageProvider container blobPath contentType checksum docType fileName'),
    fileUrl: url,
    sizeBytes: number,
    metadata: { uploadedById: uuid, originalFilename: text },
    ...stamps,
  },
};

export const statusView = {
  encounter_id: number,
  gfe_no: expect.stringMatching(/^GFE-\d+$/),
  gfe_data: listOf(all(text, 'category_name sub_category_name status')),
};

export const orderDetails = {
  order_no: expect.stringMatching(/^ORD-\d+$/),
  order_status: text,
  ...all(number, 'sub_total grand_total paid_amt balance_amt total_shipping_amt'),
  created_date: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
};
