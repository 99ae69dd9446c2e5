/** Written by the service itself; clients may not track them. */
export const isReservedEvent = (name: string): boolean =>
  /^(email\..*|contact\.(subscribed|unsubscribed)|segment\..+\.(entry|exit))$/s.test(name)

export const MAX_EVENT_NAME = 255
