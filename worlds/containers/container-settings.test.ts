import { describe, expect, test } from 'vitest'
import { containerSettings, inspectorSettings } from './container-settings.ts'
import type { Capability } from './sandbox.ts'
import { systemCalls } from './system-calls.ts'

const lease = { id: 'perdure-1', scope: 'h1', owner: 'o1' }
const least = { image: 'debian', user: '1000' }

describe('the settings of a container', () => {
  // [LIMITS-1]
  test('everything is denied or limited where the specification names nothing', () => {
    const { HostConfig, ...settings } = containerSettings(least, lease)
    expect(HostConfig).toMatchObject({
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      CapAdd: [],
      SecurityOpt: [`seccomp=${systemCalls}`, 'no-new-privileges'],
      Privileged: false,
      ReadonlyRootfs: true,
      Init: true,
      AutoRemove: true,
      PidsLimit: 128,
      Memory: 2 ** 28,
      MemorySwap: 2 ** 28,
      NanoCpus: 1e9,
    })
    expect(HostConfig?.Tmpfs).toEqual({ '/tmp': 'rw,nosuid,nodev,exec,size=67108864,mode=1777' })
    expect(HostConfig?.Devices).toBeUndefined()
    expect(settings).toMatchObject({
      User: '1000',
      NetworkDisabled: true,
      StdinOnce: true,
      Labels: { 'perdure.scope': 'h1', 'perdure.lease': 'perdure-1', 'perdure.owner': 'o1' },
    })
  })

  // [LIMITS-2]
  test.each([
    'DAC_READ_SEARCH',
    'SYS_PTRACE',
    'SYS_ADMIN',
    'SYS_CHROOT',
    'MKNOD',
    'NET_RAW',
    'SETPCAP',
    'ALL',
  ])('no container is given %s', (name) => {
    const spec = { ...least, capabilities: [name as Capability] }
    expect(() => containerSettings(spec, lease)).toThrow(expect.objectContaining({ kind: 'bad_settings' }))
  })

  // [INSPECTOR-2]
  test('an inspector has user and capabilities of what it inspects, and its own of nothing', () => {
    const spec = { ...least, capabilities: ['KILL'], setuid: true } as const
    const { User, HostConfig } = inspectorSettings({ image: 'debian' }, lease, { spec, id: 'machine' })
    expect(User).toBe('1000')
    expect(HostConfig).toMatchObject({
      CapDrop: ['ALL'],
      CapAdd: ['KILL'],
      SecurityOpt: [`seccomp=${systemCalls}`],
      Privileged: false,
    })
    expect(HostConfig?.PidMode).toBe('container:machine')
    const plain = inspectorSettings({ image: 'debian' }, lease, { spec: least, id: 'machine' })
    expect(plain.HostConfig).toMatchObject({
      CapAdd: [],
      SecurityOpt: [`seccomp=${systemCalls}`, 'no-new-privileges'],
    })
  })

  // [LIMITS-5]
  test('what the kernel counts per user is capped, and what it cannot cap is denied', () => {
    const { HostConfig } = containerSettings(least, lease)
    expect(HostConfig?.Ulimits).toEqual(
      expect.arrayContaining([
        { Name: 'sigpending', Soft: 1024, Hard: 1024 },
        { Name: 'msgqueue', Soft: 0, Hard: 0 },
      ]),
    )
  })

  // [LIMITS-6]
  test('a volume of the image is a folder in memory, of the size that the specification gives where it does', () => {
    const { HostConfig } = containerSettings({ ...least, tmpfs: { '/var/lib/data': 4096 } }, lease, [
      '/var/lib/data',
      '/volume',
    ])
    expect(HostConfig?.Tmpfs).toEqual({
      '/var/lib/data': 'rw,nosuid,nodev,exec,size=4096,mode=1777',
      '/volume': 'rw,nosuid,nodev,exec,size=67108864,mode=1777',
    })
  })

  // [LIMITS-3] [DISK-WATCH-3]
  test('the file system is writable only up to a size, which no single file passes', () => {
    const { HostConfig } = containerSettings({ ...least, diskBytes: 1000 }, lease)
    expect(HostConfig?.ReadonlyRootfs).toBe(false)
    expect(HostConfig?.Ulimits).toContainEqual({ Name: 'fsize', Soft: 1000, Hard: 1000 })
  })
})
