import type { Schemas } from '../contract.js';
import type { Dispensing } from '../domain/reviews/dispensing.js';
import { fulfilmentView } from './orderView.js';
import { guardianView } from './patientView.js';
import { prescriptionView } from './prescriptionView.js';
import { shipToView } from './shipToView.js';
import { timestamp } from './values.js';

/** What a pharmacy needs to dispense an order. */
export function dispensingView(dispensing: Dispensing): Schemas['Dispensing'] {
  const { order, patient, isIdentityChanged, shipTo, lines } = dispensing;
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
    lines: lines.map(lineView),
  };
}

function lineView({ line, treatment, prescribed }: Dispensing['lines'][number]): Schemas['DispensingLine'] {
  const { reviewerRef, name, npi, licence } = prescribed;
  return {
    treatmentId: line.productId,
    sku: line.sku,
    name: line.name,
    quantity: line.quantity,
    pharmacyId: line.pharmacyId,
    fulfilment: fulfilmentView(line),
    prescription: prescriptionView(treatment),
    prescriber: { reviewerRef, name, npi, licence },
    approvedAt: prescribed.approvedAt.toISOString(),
    validUntil: timestamp(prescribed.validUntil),
  };
}
