import { expect, test } from 'vitest'
import { compressionTo } from './connection.ts'

test.each(['127.0.0.1:7233', 'localhost:7233', '[::1]:7233', '127.0.0.1'])(
  'what workers say to a server on this machine is not compressed: %s',
  (address) => {
    expect(compressionTo(address)).toEqual({ codec: 'none' })
  },
)

test.each([
  'temporal.example.org:7233',
  'default.tmprl.cloud:7233',
  '10.0.0.7:7233',
  'localhost.example.org:7233',
])('what workers say over a network is compressed: %s', (address) => {
  expect(compressionTo(address)).toEqual({ codec: 'gzip' })
})
