/** Places in a statement: a column, a parameter with its type, or an expression. */
export type ReceiverPlaces = { type: string; subscribed: string; suppressed: string }

/** `mayReceive` as a condition. It is true or false, never null, when its parts are. */
export const mayReceiveSql = ({ type, subscribed, suppressed }: ReceiverPlaces): string =>
  `(not ${suppressed} and (${subscribed} or ${type} = 'TRANSACTIONAL'))`
