import { afterEach, expect, it } from 'vitest'
import { addressOf, passwordFor, storeAddress } from './address.ts'

const before = process.env.PERDURE_STORE

afterEach(() => {
  if (before === undefined) delete process.env.PERDURE_STORE
  else process.env.PERDURE_STORE = before
})

function addressFor(value: string): string | undefined {
  process.env.PERDURE_STORE = value
  return storeAddress()
}

it('the printed address has everything but the password, and is read to the same address [STORE-ADDRESS-1]', () => {
  const printed = addressFor('postgres://ann:p%40ss-word@db.example.org/lab?schema=home_1')
  expect(printed).toBe('postgresql://ann@db.example.org:5432/lab?schema=home_1')
  const address = addressOf(printed ?? '')
  expect(address).toMatchObject({ user: 'ann', port: 5432, database: 'lab', sslmode: 'verify-full' })
  expect(passwordFor(address)).toBe('p@ss-word')
  // Another server or user never gets it.
  expect(passwordFor({ ...address, host: 'other.example.org' })).toBeUndefined()
  const socket = addressFor('postgresql:///lab?host=/var/run/postgresql&user=ann')
  expect(addressOf(socket ?? '')).toMatchObject({
    host: '/var/run/postgresql',
    user: 'ann',
    schema: 'perdure',
  })
  expect(addressFor('')).toBeUndefined()
})

it('a wrong address is refused by a fault that names the variable and never shows its value [STORE-ADDRESS-2]', () => {
  const wrong = [
    'mysql://ann:planted@127.0.0.1/lab',
    'planted',
    'postgresql://ann:planted@127.0.0.1',
    'postgresql://ann:planted@127.0.0.1/lab/more',
    'postgresql://:planted@127.0.0.1/lab',
    'postgresql:///lab?user=ann',
    'postgresql://ann:planted@db.example.org/lab?sslmode=disable',
    'postgresql://ann:planted@127.0.0.1/lab?sslmode=planted',
    'postgresql://ann:planted@127.0.0.1/lab?planted=1',
    'postgresql://ann:planted@127.0.0.1/lab?schema=Planted',
    'postgresql://ann:planted@127.0.0.1/lab?schema=pg_planted',
    'postgresql://ann:%zzplanted@127.0.0.1/%zzlab',
  ]
  for (const value of wrong) {
    let fault: unknown
    try {
      addressFor(value)
    } catch (error) {
      fault = error
    }
    expect(fault, value).toMatchObject({ name: 'StorageFault', kind: 'bad_address', permanent: true })
    expect(String(fault)).toContain('PERDURE_STORE')
    expect(String(fault).toLowerCase()).not.toContain('planted')
  }
})
