import { describe, expect, it } from 'vitest'
import {
  hostToListenOn,
  isLoopback,
  isToken,
  knockOf,
  ListeningFault,
  mayEnter,
  newToken,
  objectionTo,
} from './listening.ts'

const token = 'a token of twenty chars'

describe('the one rule for what listens', () => {
  it('is loopback by default', () => {
    expect(hostToListenOn({}, '--host', 'TOKEN')).toBe('127.0.0.1')
    expect(['127.0.0.1', '127.1.2.3', '::1', 'localhost'].every(isLoopback)).toBe(true)
    expect(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.org', ''].some(isLoopback)).toBe(false)
  })

  it.each(['0.0.0.0', '::', '192.168.1.7'])('refuses %s without a token, by the name of the flag', (host) => {
    expect(() => hostToListenOn({ host }, '--metrics-host', 'PERDURE_METRICS_TOKEN')).toThrow(ListeningFault)
    expect(() => hostToListenOn({ host, token: 'short' }, '--metrics-host', 'PERDURE_METRICS_TOKEN')).toThrow(
      `--metrics-host ${host} lets other machines in: set PERDURE_METRICS_TOKEN`,
    )
    expect(hostToListenOn({ host, token }, '--metrics-host', 'T')).toBe(host)
  })

  it('refuses a request that calls loopback by a name of its own', () => {
    expect(mayEnter({ host: 'evil.example:9090' }, {})).toBe(false)
    expect(mayEnter({ host: undefined }, {})).toBe(false)
    expect(mayEnter({ host: '127.0.0.1:9090' }, {})).toBe(true)
    expect(mayEnter({ host: 'localhost:9090' }, {})).toBe(true)
  })

  it('asks for the token where there is one', () => {
    const place = { host: '0.0.0.0', token }
    expect(mayEnter({ host: 'trainer:9090' }, place)).toBe(false)
    expect(mayEnter({ host: 'trainer:9090', authorization: 'Bearer wrong' }, place)).toBe(false)
    expect(mayEnter({ host: 'trainer:9090', authorization: `Bearer ${token}` }, place)).toBe(true)
    expect(mayEnter({ host: '127.0.0.1', authorization: undefined }, { token })).toBe(false)
  })

  // [LISTENING-1]
  it.each([
    ['POST', { origin: 'http://127.0.0.1:90', 'content-type': 'application/json' }, undefined],
    ['POST', { 'content-type': 'application/json; charset=utf-8' }, undefined],
    ['POST', { origin: 'http://evil.example', 'content-type': 'application/json' }, 'other_site'],
    ['POST', { origin: 'null', 'content-type': 'application/json' }, 'other_site'],
    ['POST', { 'content-type': 'text/plain' }, 'not_json'],
    ['POST', { 'content-type': 'application/jsonp' }, 'not_json'],
    ['POST', {}, 'not_json'],
    ['GET', {}, undefined],
    ['GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }, 'other_site'],
    ['GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, undefined],
    ['GET', { host: 'evil.example' }, 'other_name'],
  ] as const)('answers no page of another site: %s %j', (method, given, objection) => {
    const headers: Record<string, string> = { host: '127.0.0.1:90', ...given }
    expect(
      objectionTo(
        knockOf(method, (name) => headers[name]),
        {},
      ),
    ).toBe(objection)
  })

  it('makes tokens that differ and fit a path', () => {
    const tokens = Array.from({ length: 50 }, newToken)
    expect(new Set(tokens).size).toBe(50)
    expect(tokens.every((each) => /^[\w-]{32}$/.test(each) && isToken(each, each))).toBe(true)
  })
})
