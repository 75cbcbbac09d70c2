import { Prisma } from '../../generated/prisma/client.js';
import { cast } from './cast.js';
import type { Harness } from './harness.js';

const child = { dateOfBirth: new Date('2010-06-30') };
const guarded = { ...child, guardian: { name: 'Ann Miller', relation: 'mother', phone: '5125550143' } };

/** Changes of the example records that make requests fail, each with the change that undoes it. */
export function castChanges(harnessOf: () => Harness) {
  const { tenantId } = cast;
  const prismaOf = () => harnessOf().domain.db.prisma;
  const jane = (data: object) => () => prismaOf().patient.updateMany({ where: { tenantId, id: cast.jane.id }, data });
  const adult = jane({ dateOfBirth: new Date('1990-06-30'), guardian: Prisma.DbNull });
  const licensed = (requireLicensedProvider: boolean) => () =>
    prismaOf().tenant.updateMany({ where: { id: tenantId }, data: { requireLicensedProvider } });
  const zone = (timezone: string | null) => () =>
    prismaOf().clinicLocation.updateMany({
      where: { tenantId, clinicId: cast.clinics.austin },
      data: { timezone },
    });
  const austin = (isActive: boolean) => () =>
    prismaOf().clinic.updateMany({ where: { tenantId, id: cast.clinics.austin }, data: { isActive } });
  const onlyLive = (synchronousOnly: boolean) => () =>
    prismaOf().product.updateMany({
      where: { tenantId, id: cast.products.botox },
      data: { synchronousOnly },
    });
  const active = (accountIsActive: boolean) => jane({ accountIsActive });
  return { jane, child, guarded, adult, licensed, zone, austin, onlyLive, active };
}
