import type { Schemas } from '../contract.js';
import type { Dispensing } from '../domain/reviews/dispensing.js';
import { fulfilmentView } from './orderView.js';
import { guardianView } from './patientView.js';
import { prescriptionView } from './prescriptionView.js';
import { timestamp } from './values.js';

/** What a pharmacy needs to dispense an order. */
export function dispensingView(dispensing: Dispensing): Schemas['Dispensing'] {
  const { order, patient, lines } = dispensing;
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
    },
    shipTo: shipToView(dispensing),
    lines: lines.map(lineView),
  };
}

function shipToView({ patient, country }: Dispensing): Schemas['ShipTo'] {
  const { firstName, lastName, address1, address2, postal, state, countryCode, phone } = patient;
  return {
    name: `${firstName} ${lastName}`,
    address1,
    address2,
    city: null,
    state: state?.code ?? null,
    postal,
    country,
    phone: `${countryCode}${phone}`,
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
