import type { Schemas } from '../contract.js';
import type { ShownClinic } from '../domain/catalog/clinics.js';
import { isoTime, jsonObject } from './values.js';

/** A clinic without its locations, as in a product's availability. */
export function clinicSummaryView(clinic: Omit<ShownClinic, 'locations'>): Schemas['ClinicSummary'] {
  return {
    id: clinic.id,
    legalName: clinic.legalName,
    displayName: clinic.displayName,
    email: clinic.email,
    metadata: jsonObject(clinic.metadata),
    tenantId: clinic.tenantId,
    isActive: clinic.isActive,
    createdAt: isoTime(clinic.createdAt),
    updatedAt: isoTime(clinic.updatedAt),
  };
}

export function clinicView(clinic: ShownClinic): Schemas['Clinic'] {
  return Object.assign(clinicSummaryView(clinic), { locations: clinic.locations.map(locationView) });
}

function locationView(location: ShownClinic['locations'][number]): Schemas['ClinicLocation'] {
  return {
    id: location.id,
    clinicId: location.clinicId,
    name: location.name,
    address1: location.address1,
    address2: location.address2,
    city: location.city,
    state: location.state,
    postal: location.postal,
    country: location.country,
    phone: location.phone,
    timezone: location.timezone,
    isPrimary: location.isPrimary,
    isActive: location.isActive,
    createdAt: isoTime(location.createdAt),
    updatedAt: isoTime(location.updatedAt),
  };
}
