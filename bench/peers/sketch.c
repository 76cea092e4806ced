/* What a job of Outlive cannot do without, and nothing else: the files, the processes and the syncs of a
   launch and of an end, in the order in which they come. What is read is not looked at, nothing is
   recovered, and what fails ends it. So this is as fast as that design can be on a machine: what Outlive
   takes longer is its own, and what this takes longer than `setsid` is the design's.

   sketch HOME PROGRAM    launches PROGRAM and prints the job's id. HOME has `jobs` and `live`; a line in
                          HOME/ended tells each end. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* As long as the records of `outlive run -- true` are. */
enum { SPEC = 255, ACCEPTED = 134, KEPT = 180, SPAWNED = 126, STARTED = 80, ENDED = 420, ROOM = 8192 };
static const char record[512];

static char job[256];

static long must(long result) {
    if (result == -1) {
        perror("sketch");
        _exit(1);
    }
    return result;
}

/* A path; four of them are there at a time. */
static const char *path(const char *format, ...) {
    static char all[4][512];
    static int next;
    char *one = all[next++ % 4];
    va_list words;
    va_start(words, format);
    vsnprintf(one, sizeof all[0], format, words);
    va_end(words);
    return one;
}

static const char *in_job(const char *name) { return path("%s/%s", job, name); }

static int file(const char *name, int flags) {
    return must(open(in_job(name), flags | O_CLOEXEC, 0600));
}

static int make(const char *name) { return file(name, O_RDWR | O_CREAT | O_EXCL | O_APPEND); }

static void append(int journal, size_t length) { must(write(journal, record, length)); }

/* When a process began, by which it is found again. */
static void identify(pid_t pid) {
    char stat[1024];
    int fd = must(open(path("/proc/%d/stat", pid), O_RDONLY | O_CLOEXEC));
    must(read(fd, stat, sizeof stat));
    close(fd);
}

static void sync_and_close(int fd) {
    must(fsync(fd));
    close(fd);
}

static void record_end(const char *home, int journal, int spec) {
    must(sync_file_range(spec, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE));
    sync_and_close(must(open(path("%s/jobs", home), O_RDONLY | O_CLOEXEC)));
    sync_and_close(must(open(job, O_RDONLY | O_CLOEXEC)));
    sync_and_close(spec);
    append(journal, ENDED);
    must(fdatasync(journal));
    int ended = must(open(path("%s/ended", home), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    must(write(ended, "ended\n", 6));
    close(ended);
    must(unlink(in_job("feed")));
    must(unlink(in_job("control")));
    must(unlink(path("%s/live/%s", home, strrchr(job, '/') + 1)));
}

/* In the leader: waits at the gate, then executes the program. */
static void lead(const char *program, int gate, int input, int output) {
    struct { void *handler; unsigned long flags, restorer, mask; } by_default = {0};
    for (int signal = 1; signal < 65; signal++)
        syscall(SYS_rt_sigaction, signal, &by_default, NULL, 8);
    must(setsid());
    must(dup2(input, 0));
    must(dup2(output, 1));
    must(dup2(output, 2));
    char word;
    if (recv(gate, &word, 1, 0) != 1)
        _exit(1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    char *argv[] = {(char *)program, NULL};
    execve(program, argv, environ);
    _exit(127);
}

/* The keeper. Its standby is its parent. */
static void keep(const char *home, const char *program, int gate[2], int ready) {
    must(setsid());
    must(prctl(PR_SET_CHILD_SUBREAPER, 1));
    int journal = file("journal", O_RDWR | O_APPEND);
    char all[ROOM];
    must(read(journal, all, sizeof all));
    must(fallocate(journal, FALLOC_FL_KEEP_SIZE, 0, ROOM));
    int input = must(open("/dev/null", O_RDONLY | O_CLOEXEC));
    int output = file("feed", O_RDWR);
    pid_t leader = must(fork());
    if (leader == 0)
        lead(program, gate[1], input, output);
    close(gate[1]);
    close(input);
    close(output);
    identify(getpid());
    identify(getppid());
    append(journal, KEPT);
    file("output", O_RDWR);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    must(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    identify(leader);
    append(journal, SPAWNED);
    must(send(gate[0], "g", 1, 0));
    char word;
    recv(gate[0], &word, 1, 0); /* Closes when the program is executed. */
    append(journal, STARTED);
    int pidfd = must(syscall(SYS_pidfd_open, leader, 0));
    must(write(ready, "r", 1));
    close(ready);
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    must(poll(&end, 1, -1));
    record_end(home, journal, file("spec.json", O_RDWR));
    must(wait(NULL));
    _exit(0);
}

/* In the program that was executed as a keeper: the standby, once it has made the other. */
static void stand_by(const char *home, const char *program) {
    int lock = must(fcntl(0, F_DUPFD_CLOEXEC, 3)), ready = must(fcntl(1, F_DUPFD_CLOEXEC, 3));
    int null = must(open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int fd = 0; fd < 3; fd++)
        must(dup2(null, fd));
    close(null);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    must(setsid());
    must(prctl(PR_SET_CHILD_SUBREAPER, 1));
    must(chdir("/"));
    struct stat own, held;
    must(stat(in_job("lock"), &own));
    must(fstat(lock, &held));
    int spec = file("spec.json", O_RDONLY);
    char asked[SPEC];
    must(read(spec, asked, sizeof asked));
    close(spec);
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit));
    int gate[2], finding[2];
    must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gate));
    file("feed", O_RDONLY | O_NONBLOCK);
    int listener = must(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, in_job("control"), sizeof address.sun_path - 1);
    must(bind(listener, (struct sockaddr *)&address, sizeof address));
    must(listen(listener, 128));
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, finding));
    pid_t keeper = must(fork());
    if (keeper == 0)
        keep(home, program, gate, ready);
    close(ready);
    close(gate[1]);
    close(finding[0]);
    struct pollfd end = {.fd = must(syscall(SYS_pidfd_open, keeper, 0)), .events = POLLIN};
    must(poll(&end, 1, 20));
    must(wait(NULL));
    _exit(0);
}

/* A job's directory, complete before it has its name; returns its lock, held. */
static int make_job(const char *home, const char *id) {
    snprintf(job, sizeof job, "%s/jobs/.new-%s", home, id);
    must(mkdir(job, 0700));
    int lock = make("lock");
    struct flock whole = {.l_type = F_WRLCK};
    must(fcntl(lock, F_OFD_SETLK, &whole));
    int spec = make("spec.json");
    append(spec, SPEC);
    close(spec);
    close(make("output"));
    must(mkfifo(in_job("feed"), 0600));
    int journal = make("journal");
    char boot[64];
    int fd = must(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    must(read(fd, boot, sizeof boot));
    close(fd);
    append(journal, ACCEPTED);
    close(journal);
    must(link(in_job("lock"), path("%s/live/%s", home, id)));
    const char *named = path("%s/jobs/%s", home, id);
    must(syscall(SYS_renameat2, AT_FDCWD, job, AT_FDCWD, named, 1));
    snprintf(job, sizeof job, "%s", named);
    return lock;
}

static void launch(char *self, const char *home, const char *program) {
    unsigned short random;
    must(getrandom(&random, sizeof random, 0));
    char id[32];
    snprintf(id, sizeof id, "j%d-%04x", getpid(), random);
    int lock = make_job(home, id);
    int ready[2];
    must(pipe2(ready, O_CLOEXEC));
    char *argv[] = {self, (char *)home, (char *)program, job, NULL};
    if (must(vfork()) == 0) {
        dup2(lock, 0);
        dup2(ready[1], 1);
        execve(self, argv, environ);
        _exit(1);
    }
    close(ready[1]);
    char word;
    if (read(ready[0], &word, 1) != 1)
        _exit(1);
    int journal = file("journal", O_RDONLY);
    char all[ROOM];
    must(read(journal, all, sizeof all));
    must(dprintf(1, "%s\n", id));
    _exit(0);
}

int main(int count, char **words) {
    if (count == 3)
        launch(words[0], words[1], words[2]);
    if (count != 4)
        return 2;
    snprintf(job, sizeof job, "%s", words[3]);
    stand_by(words[1], words[2]);
}
