use rustix::process::geteuid;

use super::connection::Connection;
use crate::error::{ErrorCode, Refusal};
use crate::remote::protocol::{Hello, HelloRequest, PROTOCOL, VERSION};
use crate::remote::requests::Reply;
use crate::session::Debugger;

/// The maximum number of bytes of the program's command line that are sent.
const MOST_ARGUMENTS: usize = 4096;

/// Answers `hello`. A debugger of another protocol or version is refused.
pub(super) fn greet(
    debugger: &Debugger,
    connection: &mut Connection,
    hello: &HelloRequest,
) -> Result<Reply<()>, Refusal> {
    if hello.protocol != PROTOCOL || hello.version != VERSION {
        connection.close_after("speaks another protocol");
        return Err(Refusal::new(
            ErrorCode::Version,
            format!(
                "this program speaks {PROTOCOL} {VERSION}, and the debugger {} {}; take the debugger of the program's \
                 version of opscope, {}",
                hello.protocol,
                hello.version,
                env!("CARGO_PKG_VERSION")
            ),
        ));
    }
    connection.greeted = true;
    if !hello.client.is_empty() {
        connection.name(&hello.client);
    }
    let (attached, models) = debugger.client_and_models();
    Ok(Reply::of(&Hello {
        protocol: PROTOCOL.to_owned(),
        version: VERSION,
        opscope: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        user: geteuid().as_raw(),
        program: arguments(),
        attached,
        models,
    })
    .untyped())
}

fn arguments() -> Vec<String> {
    let mut left = MOST_ARGUMENTS;
    let short = |argument: &String| {
        left = left.saturating_sub(argument.len() + 1);
        left > 0
    };
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).take_while(short).collect()
}
