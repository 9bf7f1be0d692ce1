use std::env;
use std::path::Path;

use opscope_debug::DebugError;
use opscope_debug::client::Client;

use crate::border::{Failure, Status};
use crate::globals;

/// The environment variable that names the process to debug: its number, or the path of its socket.
const VARIABLE: &str = "OPSCOPE_DEBUG_TARGET";

/// Connects to the program to debug. That is the process that the environment names, or else the one in
/// `cudbgApiClientPid`, or else this process.
pub fn connect() -> Result<Client, Failure> {
    let target = env::var_os(VARIABLE).filter(|target| !target.is_empty());
    let process = match &target {
        None => globals::named_process().unwrap_or_else(std::process::id),
        Some(target) if target.as_encoded_bytes().contains(&b'/') => {
            let path = Path::new(target);
            return Client::connect(path).map_err(|error| unreachable(&error, &path.display().to_string()));
        }
        Some(target) => target.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
            let text = format!(
                "{VARIABLE} is {}, which is neither the number of a process nor the path of a socket, as 4711 and \
                 /run/model.sock are",
                target.display()
            );
            Failure::new(Status::InvalidEnvvarArgs, text)
        })?,
    };
    Client::connect_pid(process).map_err(|error| unreachable(&error, &format!("process {process}")))
}

fn unreachable(error: &DebugError, what: &str) -> Failure {
    let code = match error {
        DebugError::Connection(_) => Status::NoDeviceAvailable,
        _ => Status::InitializationFailure,
    };
    Failure::new(code, format!("{what} cannot be debugged: {error}; {VARIABLE} names the process or its socket"))
}
