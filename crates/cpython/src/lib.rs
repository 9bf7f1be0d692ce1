//! Asks a process that runs CPython to execute a script. Nothing has to be prepared there.
//!
//! From 3.14 on, an interpreter has an interface for this, which [PEP 768](https://peps.python.org/pep-0768/) describes: another
//! process writes the path of a file into the state of a thread, and that thread executes the file when it next executes
//! Python. The interpreter's memory begins with a table that says where everything is.
//!
//! | file | what |
//! |---|---|
//! | `runtime` | where the interpreter's memory is |
//! | `offsets` | the table at its beginning |
#![forbid(unsafe_code)]

mod offsets;
mod runtime;

use std::fs::{File, OpenOptions, read_to_string};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use offsets::Offsets;

/// The interpreter of a process.
pub struct Interpreter {
    pid: u32,
    memory: File,
    offsets: Offsets,
    /// The address of its state.
    state: u64,
}

/// Why an interpreter cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no such process.
    #[error("there is no process {0}; give the number of a running program")]
    NoSuchProcess(u32),
    /// The process runs no CPython.
    #[error("process {0} does not run CPython")]
    NotPython(u32),
    /// Its version has no such interface.
    #[error(
        "process {pid} runs CPython{}, which no other process can ask anything; versions from 3.14 on can be asked",
        .version.as_ref().map(|version| format!(" {version}")).unwrap_or_default()
    )]
    TooOld {
        /// The process.
        pid: u32,
        /// The version, if it is known.
        version: Option<String>,
    },
    /// Its version is a later one than those whose memory is known here.
    #[error("process {pid} runs CPython {version}, and this opscope knows the memory of 3.14 only")]
    TooNew {
        /// The process.
        pid: u32,
        /// The version.
        version: String,
    },
    /// The program has switched the interface off.
    #[error(
        "process {0} was started with PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug, so its interpreter is not asked"
    )]
    SwitchedOff(u32),
    /// The system does not let this process touch the memory of the other one.
    #[error("the system does not let this process write to the memory of process {pid} ({source}): {}", .hint)]
    Forbidden {
        /// The process.
        pid: u32,
        /// What would allow it.
        hint: String,
        /// The system's error.
        source: io::Error,
    },
    /// The interpreter's memory is not as it should be.
    #[error("the memory of process {pid} is not that of an interpreter that works: {what}")]
    Strange {
        /// The process.
        pid: u32,
        /// What is strange.
        what: &'static str,
    },
    /// The path of the script is too long.
    #[error("{} is a longer path than an interpreter takes", .0.display())]
    LongPath(PathBuf),
}

/// The bit that stops the evaluation of bytecode at the next opportunity.
const PLEASE_STOP: u64 = 1 << 5;

/// The most threads of an interpreter that are looked at. More are a list that never ends.
const MOST_THREADS: usize = 1 << 16;

impl Interpreter {
    /// Finds the main interpreter of a process.
    ///
    /// # Errors
    /// Returns an error if there is none that can be asked.
    pub fn of(pid: u32) -> Result<Self, Refusal> {
        let runtime = runtime::find(pid)?;
        let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"));
        let memory = memory.map_err(|source| forbidden(pid, source))?;
        let offsets = Offsets::read(pid, &memory, &runtime)?;
        let state = word(pid, &memory, runtime.address + offsets.interpreters_head)?;
        if state == 0 {
            return Err(Refusal::Strange { pid, what: "it has none yet, or none any more" });
        }
        let interpreter = Self { pid, memory, offsets, state };
        if interpreter.number(state + interpreter.offsets.remote_debugging_enabled)? != 1 {
            return Err(Refusal::SwitchedOff(pid));
        }
        Ok(interpreter)
    }

    /// Lets the main thread execute a file, the next time that it executes Python. The path is absolute, as the process
    /// sees it.
    ///
    /// # Errors
    /// Returns an error if the system forbids it, or the path is too long.
    pub fn execute_on_main_thread(&self, script: &Path) -> Result<(), Refusal> {
        let main = self.word(self.state + self.offsets.threads_main)?;
        self.execute(main, script)
    }

    /// Lets every thread execute a file, the next time that it executes Python.
    ///
    /// # Errors
    /// As [`execute_on_main_thread`](Self::execute_on_main_thread).
    pub fn execute_on_every_thread(&self, script: &Path) -> Result<(), Refusal> {
        self.each_thread(|thread| self.execute(thread, script))
    }

    /// Takes back what no thread has executed yet.
    ///
    /// # Errors
    /// Returns an error if the system forbids it.
    pub fn take_back(&self) -> Result<(), Refusal> {
        let Offsets { support, pending_call, .. } = self.offsets;
        self.each_thread(|thread| self.write(thread + support + pending_call, &0i32.to_ne_bytes()))
    }

    fn each_thread(&self, mut act: impl FnMut(u64) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let mut thread = self.word(self.state + self.offsets.threads_head)?;
        for _ in 0..MOST_THREADS {
            if thread == 0 {
                return Ok(());
            }
            let next = self.word(thread + self.offsets.next_thread)?;
            act(thread)?;
            thread = next;
        }
        Err(Refusal::Strange { pid: self.pid, what: "its list of threads has no end" })
    }

    /// The order matters: the thread looks at the path when the number is not 0, and at the number when it is stopped.
    fn execute(&self, thread: u64, script: &Path) -> Result<(), Refusal> {
        if thread == 0 {
            return Err(Refusal::Strange { pid: self.pid, what: "it has no such thread" });
        }
        let Offsets { support, script_path, script_path_size, pending_call, eval_breaker, .. } = self.offsets;
        let path = [script.as_os_str().as_bytes(), b"\0"].concat();
        if path.len() as u64 > script_path_size {
            return Err(Refusal::LongPath(script.to_owned()));
        }
        self.write(thread + support + script_path, &path)?;
        self.write(thread + support + pending_call, &1i32.to_ne_bytes())?;
        let breaker = self.word(thread + eval_breaker)?;
        self.write(thread + eval_breaker, &(breaker | PLEASE_STOP).to_ne_bytes())
    }

    fn word(&self, address: u64) -> Result<u64, Refusal> {
        word(self.pid, &self.memory, address)
    }

    fn number(&self, address: u64) -> Result<i32, Refusal> {
        let mut bytes = [0; 4];
        self.memory.read_exact_at(&mut bytes, address).map_err(|source| forbidden(self.pid, source))?;
        Ok(i32::from_ne_bytes(bytes))
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.memory.write_all_at(bytes, address).map_err(|source| forbidden(self.pid, source))
    }
}

fn word(pid: u32, memory: &File, address: u64) -> Result<u64, Refusal> {
    let mut bytes = [0; 8];
    memory.read_exact_at(&mut bytes, address).map_err(|source| forbidden(pid, source))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Says what would allow to read and write the memory of a process.
fn forbidden(pid: u32, source: io::Error) -> Refusal {
    if source.kind() == io::ErrorKind::NotFound {
        return Refusal::NoSuchProcess(pid);
    }
    let scope = read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let hint = match scope.trim() {
        "1" => {
            "kernel.yama.ptrace_scope is 1, so only a parent of the process may; run the command as root, or set that to 0"
        }
        "2" => "kernel.yama.ptrace_scope is 2, so only root may; run the command as root",
        "3" => "kernel.yama.ptrace_scope is 3, so nobody may until the machine is started anew",
        _ => "run the command as the user of the process or as root, outside of a container that forbids ptrace",
    };
    Refusal::Forbidden { pid, hint: hint.to_owned(), source }
}
