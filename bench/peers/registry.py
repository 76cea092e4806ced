"""A registry of background jobs as agents have them built in: one process, a thread that reads each job.

Asked with one JSON object a line on standard input; answers with one line each. Nothing of it outlives
the process, which is why it is a measure and not a choice.
"""

import concurrent.futures, json, subprocess, sys, threading, uuid

directory = sys.argv[1]
jobs = {}


class Job:
    def __init__(self, argv):
        self.id = uuid.uuid4().hex[:8]
        self.argv = argv
        self.ended = threading.Event()
        self.code = None
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with open(f"{directory}/{self.id}", "wb", buffering=0) as log:
            while data := self.process.stdout.read1(65536):
                log.write(data)
        self.process.stdout.close()
        self.code = self.process.wait()
        self.ended.set()


def run(argv):
    job = Job(argv)
    jobs[job.id] = job
    return job


for line in sys.stdin:
    asked = json.loads(line)
    match asked["do"]:
        case "run":
            answer = run(asked["argv"]).id
        case "wait":
            jobs[asked["id"]].ended.wait()
            answer = jobs[asked["id"]].code
        case "list":
            answer = [[job.id, job.argv, job.code] for job in jobs.values()]
        case "storm":
            with concurrent.futures.ThreadPoolExecutor(asked["width"]) as hands:
                ends = hands.map(lambda _: run(["true"]).ended.wait(), range(asked["jobs"]))
                answer = sum(ends)
    print(json.dumps(answer), flush=True)
