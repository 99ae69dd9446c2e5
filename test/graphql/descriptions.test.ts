import { isEnumType, isInputObjectType, isInterfaceType, isIntrospectionType, isObjectType } from 'graphql'
import * as assert from 'uvu/assert'
import { schema } from '../../src/schema.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

type Described = { at: string; description: string | null | undefined }

/** Everything in the schema that can have a description, but for what GraphQL itself brings along. */
function everythingNamed(): Described[] {
  const types = Object.values(schema.getTypeMap()).filter((type) => !isIntrospectionType(type))
  return types.flatMap((type): Described[] => {
    const itself = { at: type.name, description: type.description }
    if (isEnumType(type)) return [itself, ...type.getValues().map((value) => within(type.name, value))]
    if (isInputObjectType(type)) {
      return [itself, ...Object.values(type.getFields()).map((field) => within(type.name, field))]
    }
    if (!isObjectType(type) && !isInterfaceType(type)) return [itself]
    const fields = Object.values(type.getFields()).flatMap((field) => {
      const found = within(type.name, field)
      return [found, ...field.args.map((arg) => within(found.at, arg))]
    })
    return [itself, ...fields]
  })
}

const within = (
  place: string,
  { name, description }: { name: string } & Omit<Described, 'at'>,
): Described => ({
  at: `${place}.${name}`,
  description,
})

const MIN_LENGTH = 10

scenario('The descriptions of the schema', nothingShared, (test) => {
  test('every type, field, argument, input field and enum value has one', () => {
    const all = everythingNamed()
    assert.ok(all.length > 400)
    const missing = all.filter(({ description }) => (description ?? '').length < MIN_LENGTH)
    assert.equal(
      missing.map(({ at }) => at),
      [],
    )
  })

  test('they are sentences or phrases that end with a full stop', () => {
    const own = everythingNamed().filter(
      ({ description }) => description && !/[.)]$/.test(description.trim()),
    )
    assert.equal(
      own.map(({ at, description }) => `${at}: ${description}`),
      [],
    )
  })
})
