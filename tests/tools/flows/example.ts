/** The service, and the credentials of the flow. */
export interface Target {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The values that the flow of every generated client uses. */
export const example = {
  clinic: 'austin',
  treatment: 'BTX-100',
  patient: (name: string) => ({
    firstName: 'María',
    lastName: 'López',
    email: `${name}@example.com`,
    dateOfBirth: '1985-02-11',
    countryCode: '+1',
    phone: '5125550177',
  }),
  /** A type of events that the contract lacks. */
  laterType: 'something.added_later',
  review: { reviewType: 'asynchronous', serviceQueue: 'provider_network' },
} as const;
