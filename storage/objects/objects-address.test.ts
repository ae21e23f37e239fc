import { expect, test } from 'vitest'
import { parseObjectsAddress } from './objects-address.ts'

test('an address names a bucket, and a prefix that ends with a slash', () => {
  expect(parseObjectsAddress('s3://team-bucket')).toEqual({ bucket: 'team-bucket', prefix: '' })
  expect(parseObjectsAddress('s3://team.bucket/')).toEqual({ bucket: 'team.bucket', prefix: '' })
  expect(parseObjectsAddress('s3://abc/homes/one/')).toEqual({ bucket: 'abc', prefix: 'homes/one/' })
})

// [OBJECTS-ADDRESS-1]
test.each([
  ['', 'begin with s3://'],
  ['https://bucket.example', 'begin with s3://'],
  ['s3://', '3 to 63'],
  ['s3://ab', '3 to 63'],
  ['s3://Team', '3 to 63'],
  ['s3://127.0.0.1', '3 to 63'],
  ['s3://a..b', '3 to 63'],
  ['s3://abc//x', 'a prefix has'],
  ['s3://abc/../x', 'a prefix has'],
  ['s3://abc/.x', 'a prefix has'],
  ['s3://abc/x?versionId=1', 'a prefix has'],
])('%j is refused by name', (text, problem) => {
  expect(() => parseObjectsAddress(text)).toThrow(
    expect.objectContaining({
      kind: 'bad_address',
      permanent: true,
      message: expect.stringContaining(problem),
    }),
  )
})

// [OBJECTS-ADDRESS-1]
test('keys within an address are refused without being repeated', () => {
  for (const address of ['s3://PLANTED:PLANTED@bucket', 's3://PLANTED:PLAN/TED@bucket']) {
    let message = ''
    try {
      parseObjectsAddress(address)
    } catch (error) {
      message = String(error)
    }
    expect(message).toContain('PERDURE_OBJECTS: ')
    expect(message).not.toMatch(/PLAN/)
  }
})
