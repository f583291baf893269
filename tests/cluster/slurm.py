"""A real Slurm of one node: a full queue, a quick paper submitted, a job cancelled, controller and driver
killed, resumed; then the same paper as an array of jobs without a driver.

    python tests/cluster/slurm.py [paper]

Installs (Debian: slurm-wlm, munge) and starts what is missing, where it may, and writes what happened to
results/quick/cluster/slurm.log. It works on a copy of the last commit; the project's results stay as is.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
LOG = ROOT / "results/quick/cluster/slurm.log"
CONF = Path("/etc/slurm/slurm.conf")
MOST = 6  # jobs that the controller keeps, one of them its own spare
OURS = "# of faithlib's make test-cluster"
QUICKLY = """--jobs 2 --seconds-between-status-checks 5 --slurm-init-seconds-before-status-checks 5
    --latency-wait 10 --default-resources slurm_partition=debug
    --slurm-status-command squeue""".split()  # there is no accounting here
began = time.monotonic()


def say(text):
    """A line on the terminal and in the log, with the seconds since the start."""
    line = f"{time.monotonic() - began:6.0f} s  {text}"
    print(line, flush=True)
    with LOG.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def sh(*command, check=True, **options):
    """The output of a command; ends the test, in a line, where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if check and done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout.strip()


def install():
    """Slurm's and munge's programs, from the distribution."""
    if shutil.which("slurmctld") and shutil.which("munged"):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit(
            "no Slurm here, and it may not be installed: as root on Debian or Ubuntu run "
            "apt-get install --no-install-recommends slurm-wlm munge, then make test-cluster"
        )
    say("apt-get install slurm-wlm munge")
    sh("apt-get", "update", "-qq")
    packages = "--no-install-recommends slurm-wlm munge".split()
    sh("apt-get", "install", "-y", "-qq", *packages, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})


def start():
    """One node, without accounting. A cluster that is there already is not touched."""
    if CONF.exists() and OURS not in CONF.read_text():
        sys.exit(f"{CONF} is not of this test: it starts a Slurm of its own, run it on another machine")
    if os.geteuid() != 0:
        sys.exit("starting a Slurm needs root: run make test-cluster as root, on a spare machine")
    host = sh("hostname", "-s")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    for folder in (CONF.parent, "/var/spool/slurmctld", "/var/spool/slurmd", "/var/log/slurm"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    CONF.write_text(f"""{OURS}
ClusterName=faithlib
SlurmctldHost={host}
AuthType=auth/munge
SlurmUser=root
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
ReturnToService=2
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
MpiDefault=none
AccountingStorageType=accounting_storage/none
MaxJobCount={MOST}
MinJobAge=120
JobAcctGatherType=jobacct_gather/none
NodeName={host} CPUs={os.cpu_count()} RealMemory={memory * 9 // 10} State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
    if not running("munged"):
        Path("/run/munge").mkdir(exist_ok=True)
        shutil.chown("/run/munge", "munge", "munge")
        sh("runuser", "-u", "munge", "--", shutil.which("munged"))
    for daemon in ("slurmctld", "slurmd"):
        if not running(daemon):
            sh(daemon)
    wait_until(lambda: "idle" in sh("sinfo", "-h", check=False), 60, "no idle node, see /var/log/slurm")
    say(f"{sh('sinfo', '-V')} on one node of {os.cpu_count()} cores")


def running(name):
    """The process ids of a daemon."""
    return [int(pid) for pid in sh("pidof", name, check=False).split()]


def wait_until(true, seconds, otherwise):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            say(f"failed: {otherwise}")
            sys.exit(1)
        time.sleep(1)


def queue(state):
    """The ids of jobs in a state."""
    return sh("squeue", "-h", "-o", "%i", "-t", state, check=False).split()


def digests(folder):
    """{file: SHA-256} of the units that are done, those with a .json."""
    files = [p for done in folder.glob("*.json") for p in folder.glob(f"{done.stem}.*")]
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def driverless(project, records):
    """The paper once more, as an array of jobs of which one is cancelled, with values as before."""
    expected = {path.name: path.read_bytes() for path in records.glob("*.parquet")}
    shutil.rmtree(records)
    paper = f"papers={records.name}"
    command = [sys.executable, "workflow/submit.py", "scale=quick", paper, "--", "--partition=debug"]
    say(f"submitted without a driver: {'; '.join(sh(*command, cwd=project).splitlines())}")
    wait_until(lambda: queue("RUNNING"), 300, "no job of the array runs")
    sh("scancel", queue("RUNNING")[0])
    say("scancel of a job of the array")
    wait_until(lambda: not queue("RUNNING,COMPLETING"), 1800, "jobs do not end")
    say(f"{len(list(records.glob('*.json')))} units done, reports {(records / 'claims.csv').is_file()}")
    wait_until(lambda: not queue("PENDING,COMPLETING"), 120, "the reports stay in the queue")
    say(f"the same command again: {'; '.join(sh(*command, cwd=project).splitlines())}")
    wait_until(lambda: not queue("RUNNING,PENDING,COMPLETING"), 1800, "jobs do not end")
    same = [
        n
        for n, content in expected.items()
        if (records / n).is_file() and (records / n).read_bytes() == content
    ]
    say(f"complete: {len(same)} of {len(expected)} files of values as before, claims.csv drawn")
    if len(same) != len(expected) or not (records / "claims.csv").is_file():
        say("failed: the array did not make what the driver made")
        sys.exit(1)


def main(paper="attributions"):
    LOG.parent.mkdir(parents=True, exist_ok=True)
    LOG.write_text(f"make test-cluster, quick scale, {paper}\n")
    install()
    start()
    project = Path(tempfile.mkdtemp(prefix="faithlib-"))
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x"], cwd=project, input=archive, check=True)
    records, config = project / "results/quick" / paper, project / "config/quick.yaml"
    content = yaml.safe_load(config.read_text(encoding="utf-8"))
    content["papers"][paper]["units"][0]["seed"] = [0, 1, 2]  # a job is lost while others go on
    config.write_text(yaml.safe_dump(content), encoding="utf-8")
    command = [
        sys.executable, "-m", "snakemake", "--profile", "workflow/profiles/slurm", *QUICKLY, "--config",
        "scale=quick", f"papers={paper}",
    ]  # fmt: skip

    for _ in range(MOST - 1):
        sh("sbatch", "--hold", "--output", "/dev/null", "--wrap", "true")
    say(f"the queue is full: {len(queue('PENDING'))} jobs, held, of somebody else's")
    with (project / "driver.log").open("w") as log:
        driver = subprocess.Popen(command, cwd=project, stdout=log, stderr=log)
        time.sleep(40)  # it submits in vain
        say(
            f"the driver {'waits' if driver.poll() is None else 'has ended'}, "
            f"{len(queue('RUNNING'))} of its jobs run"
        )
        sh("scancel", *queue("PENDING"))
        say("the queue has room")
        wait_until(lambda: queue("RUNNING") or driver.poll() is not None, 300, "no job runs")
        say(f"submitted: jobs {' '.join(queue('RUNNING,PENDING'))} in the queue")
        wait_until(lambda: list(records.glob("*.json")) or driver.poll() is not None, 1800, "no unit ends")
        done = digests(records)
        say(f"{len(list(records.glob('*.json')))} unit done")

        for pid in running("slurmctld"):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not running("slurmctld"), 30, "the controller does not die")
        say("kill -9 of the controller, slurmctld")
        time.sleep(8)  # the driver asks in vain
        say(f"the driver {'waits' if driver.poll() is None else 'has ended'}")
        sh("slurmctld")
        wait_until(lambda: "debug" in sh("sinfo", "-h", check=False), 60, "the controller does not come back")
        say(f"the controller is back: jobs {' '.join(queue('RUNNING,PENDING')) or 'none'} in the queue")
        wait_until(lambda: queue("RUNNING") or driver.poll() is not None, 120, "no job runs any more")
        if jobs := queue("RUNNING"):
            sh("scancel", jobs[0])
            say(f"scancel of job {jobs[0]}")
        driver.kill()
        driver.wait()
        say("kill -9 of the driver")
    wait_until(lambda: not queue("RUNNING,PENDING,COMPLETING"), 1800, "jobs do not end")
    say(f"the queue is empty: {len(list(records.glob('*.json')))} units done")
    sh(*command[:3], "--unlock", cwd=project)
    say("snakemake --unlock, and the same command again")
    again = subprocess.run(command, cwd=project, capture_output=True, text=True)
    (project / "again.log").write_text(again.stdout + again.stderr)
    if again.returncode:
        say(f"failed: {(again.stdout + again.stderr)[-2000:]}")
        sys.exit(1)
    after = digests(records)
    say(
        f"resumed and complete: {len(list(records.glob('*.json')))} units; "
        f"files finished before the faults: {len(done)}, "
        f"of these byte-identical: {sum(after[name] == digest for name, digest in done.items())}"
    )
    if done.items() - after.items():
        sys.exit(1)
    driverless(project, records)
    shutil.rmtree(project)


if __name__ == "__main__":
    main(*sys.argv[1:])
