import type { Schemas } from '../contract.js';
import type { Dispensing } from '../domain/orders/dispensing.js';
import { changedSinceApproval } from '../domain/orders/orders.js';
import { fulfilmentView } from './orderView.js';
import { guardianView } from './patientView.js';
import { prescriptionView } from './prescriptionView.js';
import { shipToView } from './shipToView.js';
import { timestamp } from './values.js';

/** The data with which a pharmacy dispenses an order. */
export function dispensingView(dispensing: Dispensing): Schemas['Dispensing'] {
  const { order, patient, isIdentityChanged, shipTo } = dispensing;
  return {
    order_no: order.orderNo,
    order_status: order.orderStatus,
    patient: {
      user_id: patient.id,
      name: `${patient.firstName} ${patient.lastName}`,
      dateOfBirth: patient.dateOfBirth.toISOString(),
      sex: patient.sex,
      phone: patient.phone,
      countryCode: patient.countryCode,
      guardian: guardianView(patient.guardian),
      isIdentityChanged,
    },
    shipTo: shipToView(shipTo),
    changedSinceApproval: changedSinceApproval(order),
    lines: dispensing.lines.map((line) => lineView(dispensing, line)),
  };
}

function lineView(
  { order, provider }: Dispensing,
  { line, treatment, approvedAt, validUntil }: Dispensing['lines'][number],
): Schemas['DispensingLine'] {
  const { name = null, npi = null, credential = null, license = null } = provider ?? {};
  return {
    treatmentId: line.productId,
    sku: line.sku,
    name: line.name,
    quantity: line.quantity,
    pharmacyId: line.pharmacyId,
    fulfilment: fulfilmentView(line),
    prescription: prescriptionView(treatment),
    prescriber: { reviewerRef: order.encounter.reviewerRef ?? '', name, npi, credential, license },
    approvedAt: approvedAt.toISOString(),
    validUntil: timestamp(validUntil),
  };
}
