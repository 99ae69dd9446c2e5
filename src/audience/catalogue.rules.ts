import {
  ACTIVITIES,
  type Activity,
  dataField,
  EVENT_OF_ACTIVITY,
  type FieldKind,
  OPERATORS_OF,
} from './fields.rules.ts'
import { type Operator, UNITS, type Unit } from './tree.rules.ts'

export type DataType = 'string' | 'number' | 'boolean' | 'date' | 'object' | 'array'
export type FieldType = DataType | 'event' | 'segment'

/** A field that filters may name. */
export type CatalogueField = {
  field: string
  /** For people to read. */
  label: string
  type: FieldType
  operators: readonly Operator[]
  /** Not made by the project's own contacts and events. */
  standard: boolean
}

export type Catalogue = {
  fields: CatalogueField[]
  /** What stands in `value` beside each operator, and whether it takes a `unit`. */
  operators: { operator: Operator; value: OperatorValue; unit: boolean }[]
  units: readonly Unit[]
}

/** none; what the field holds; a whole number of units. */
export type OperatorValue = 'none' | 'field' | 'duration'

/** What a project has of its own: custom fields as `/contacts/fields` infers them, names of events, segments. */
export type OwnFields = {
  custom?: readonly { path: readonly string[]; type: DataType }[]
  events?: readonly string[]
  segments?: readonly { id: string; name: string }[]
}

const ORDERED = ['greaterThan', 'greaterThanOrEqual', 'lessThan', 'lessThanOrEqual'] as const
const EXISTENCE = ['exists', 'notExists'] as const

/** The operators that make sense for values of a type; `data.*` accepts the others too. */
export const OPERATORS_OF_TYPE: Record<DataType, readonly Operator[]> = {
  string: [...OPERATORS_OF.email, ...ORDERED, ...EXISTENCE],
  number: ['equals', 'notEquals', ...ORDERED, ...EXISTENCE],
  boolean: ['equals', 'notEquals', ...EXISTENCE],
  date: [...OPERATORS_OF.time, ...EXISTENCE],
  array: ['contains', 'notContains', ...EXISTENCE],
  object: EXISTENCE,
}

const LABEL_OF: Record<Activity, string> = {
  sent: 'Was sent an email',
  delivered: 'Received an email',
  opened: 'Opened an email',
  clicked: 'Clicked in an email',
  bounced: 'Had an email bounce',
  complained: 'Complained about an email',
}

const standard = (field: string, label: string, type: FieldType, kind: FieldKind): CatalogueField => ({
  field,
  label,
  type,
  operators: OPERATORS_OF[kind],
  standard: true,
})

export const STANDARD_FIELDS: readonly CatalogueField[] = [
  standard('email', 'Email', 'string', 'email'),
  standard('subscribed', 'Subscribed', 'boolean', 'subscribed'),
  standard('createdAt', 'Created', 'date', 'time'),
  standard('updatedAt', 'Last changed', 'date', 'time'),
  ...ACTIVITIES.map((activity) => standard(`email.${activity}`, LABEL_OF[activity], 'event', 'event')),
]

const OPERATORS: Catalogue['operators'] = [...new Set(Object.values(OPERATORS_OF).flat())].map((operator) => {
  const duration = /(within|olderThan)$/i.test(operator)
  const none = /(exists|triggered|OfSegment)$/i.test(operator)
  return { operator, value: none ? 'none' : duration ? 'duration' : 'field', unit: duration }
})

/** Everything that filters of a project can ask for, for user interfaces. */
export function fieldCatalogue({ custom = [], events = [], segments = [] }: OwnFields = {}): Catalogue {
  const service: ReadonlySet<string> = new Set(Object.values(EVENT_OF_ACTIVITY))
  return {
    fields: [
      ...STANDARD_FIELDS,
      ...custom.map(({ path, type }) => own(dataField(path), path.join('.'), type, OPERATORS_OF_TYPE[type])),
      ...events
        .filter((name) => !service.has(name))
        .map((name) => own(`event.${name}`, name, 'event', OPERATORS_OF.event)),
      ...segments.map(({ id, name }) => own(`segment.${id}`, name, 'segment', OPERATORS_OF.segment)),
    ],
    operators: OPERATORS,
    units: UNITS,
  }
}

const own = (
  field: string,
  label: string,
  type: FieldType,
  operators: readonly Operator[],
): CatalogueField => ({
  field,
  label,
  type,
  operators,
  standard: false,
})
