/**
 * The system calls that a container may make, as a seccomp profile in Docker's form.
 *
 * Engines have a profile of their own, which is about the kernel's safety. It allows calls that take the disk of the
 * engine's machine at once, or use up what the kernel counts per user, so containers get this one instead.
 *
 * Invariants
 * - [CALLS-1] Calls that are not listed are denied: namespaces, mounts, modules, keys, kernel tracing, io_uring, raw sockets.
 * - [CALLS-2] No call reserves blocks of a disk without writing them. `fallocate` answers that the file system cannot do it,
 *   so `posix_fallocate` writes instead, which the watch of the disk sees.
 * - [CALLS-3] No call takes an inotify instance or enlarges a pipe: their counts are kept per user, and a container's root
 *   is the user of the machine's root unless the engine maps users.
 */

/** Errors of Linux. */
const notPermitted = 1
const notImplemented = 38
const notSupported = 95

const allowed = {
  files: `access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fchdir fchmod
    fchmodat fchmodat2 fchown fchownat fdatasync flock fstat fstatfs fsync ftruncate getcwd getdents getdents64 lchown
    link linkat lseek lstat mkdir mkdirat mknod mknodat newfstatat open openat openat2 readlink readlinkat rename renameat
    renameat2 rmdir stat statfs statx symlink symlinkat sync sync_file_range sync_file_range2 syncfs truncate umask unlink
    unlinkat futimesat utime utimensat utimes fadvise64 readahead cachestat listmount statmount`,
  attributes: `fgetxattr flistxattr fremovexattr fsetxattr getxattr getxattrat lgetxattr listxattr listxattrat llistxattr
    lremovexattr lsetxattr removexattr removexattrat setxattr setxattrat`,
  transfer: `pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readv sendfile splice tee vmsplice write writev pipe pipe2
    io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit`,
  waiting: `epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd
    eventfd2 poll ppoll pselect6 select signalfd signalfd4 timerfd_create timerfd_gettime timerfd_settime`,
  memory: `brk madvise map_shadow_stack membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap mseal msync
    munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect remap_file_pages`,
  processes: `arch_prctl capget capset execve execveat exit exit_group fork vfork wait4 waitid getcpu getpgid getpgrp getpid
    getppid getpriority getrlimit getrusage getsid gettid get_robust_list ioprio_get ioprio_set kill pidfd_open
    pidfd_send_signal prctl prlimit64 process_mrelease process_vm_readv process_vm_writev ptrace rseq seccomp
    landlock_add_rule landlock_create_ruleset landlock_restrict_self sched_getaffinity sched_getattr sched_getparam
    sched_get_priority_max sched_get_priority_min sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr
    sched_setparam sched_setscheduler sched_yield setpgid setpriority setrlimit setsid set_robust_list set_tid_address
    riscv_flush_icache riscv_hwprobe`,
  users: `getegid geteuid getgid getgroups getresgid getresuid getuid setfsgid setfsuid setgid setgroups setregid setresgid
    setresuid setreuid setuid`,
  signals: `pause restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
    rt_sigtimedwait rt_tgsigqueueinfo sigaltstack tgkill tkill`,
  sockets: `accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg
    sendto setsockopt shutdown socketpair`,
  'other processes': `futex futex_requeue futex_wait futex_waitv futex_wake mq_getsetattr mq_notify mq_open mq_timedreceive
    mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd semctl semget semop semtimedop shmat shmctl shmdt shmget`,
  time: `adjtimex alarm clock_adjtime clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep setitimer
    time timer_create timer_delete timer_getoverrun timer_gettime timer_settime times`,
  system: 'getrandom sysinfo uname',
} as const

/** A condition on one argument. Several rules for one call hold alternatively. */
interface Condition {
  readonly index: number
  readonly value: number
  readonly valueTwo?: number
  readonly op: 'SCMP_CMP_EQ' | 'SCMP_CMP_MASKED_EQ'
}

interface Rule {
  readonly names: readonly string[]
  readonly action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO'
  readonly args?: readonly Condition[]
  readonly errnoRet?: number
}

function allow(names: string, ...args: readonly Condition[]): Rule {
  return { names: names.split(/\s+/), action: 'SCMP_ACT_ALLOW', args }
}

function refuse(names: string, errnoRet: number): Rule {
  return { names: names.split(/\s+/), action: 'SCMP_ACT_ERRNO', errnoRet }
}

function whenEqual(call: string, index: number, values: readonly number[]): readonly Rule[] {
  return values.map((value) => allow(call, { index, value, op: 'SCMP_CMP_EQ' }))
}

function whenMasked(call: string, index: number, mask: number, value: number): Rule {
  return allow(call, { index, value: mask, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' })
}

/**
 * Allows a call unless some bits of an argument have one of the values. The kernel reads 32 bits of a register of 64, so a
 * comparison of the whole register could be passed by; and a profile has no masked inequality, so the other values are
 * listed by the first bit in which they differ.
 */
function unlessMasked(
  call: string,
  index: number,
  { highest, lowest }: { readonly highest: number; readonly lowest: number },
  denied: readonly number[],
): readonly Rule[] {
  const rest = (bit: number, mask: number, value: number, left: readonly number[]): readonly Rule[] => {
    if (left.length === 0) return [whenMasked(call, index, mask, value)]
    if (bit < lowest) return []
    const weight = 2 ** bit
    return [0, weight].flatMap((set) =>
      rest(
        bit - 1,
        mask + weight,
        value + set,
        left.filter((each) => (each & weight) === set),
      ),
    )
  }
  return rest(highest, 0, 0, denied)
}

/** `ioctl` types: `X` has reservations, extent sizes and project numbers; 0x94 has subvolumes and shared extents. */
const diskRequests = [0x5800, 0x9400]
const typeBits = { highest: 15, lowest: 8 }
/** F_SETPIPE_SZ; commands of `fcntl` fit twelve bits. */
const pipeSizes = [1031]
const commandBits = { highest: 11, lowest: 0 }
/** New namespaces of `clone`. The newer `clone3` hides its flags in memory; without it programs use the older one. */
const namespaceFlags = 0x7e02_0000
/** UNIX, INET, INET6 and NETLINK. */
const families = [1, 2, 10, 16]
/** Linux, with or without uname26 and 32-bit addresses, and the question which it is. */
const personalities = [0x0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff]

/** The profile's text, as Docker's API takes it. Calls that a processor does not have are passed over. */
export const systemCalls = JSON.stringify({
  defaultAction: 'SCMP_ACT_ERRNO',
  defaultErrnoRet: notPermitted,
  syscalls: [
    ...Object.values(allowed).map((names) => allow(names)),
    ...whenEqual('socket', 0, families),
    ...whenEqual('personality', 0, personalities),
    whenMasked('clone', 0, namespaceFlags, 0),
    ...unlessMasked('ioctl', 1, typeBits, diskRequests),
    ...unlessMasked('fcntl', 1, commandBits, pipeSizes),
    refuse('fallocate', notSupported),
    refuse('clone3 inotify_init inotify_init1', notImplemented),
  ],
})
