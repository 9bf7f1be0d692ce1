//! A Ballista cluster on this machine, and its client.
//!
//!     fleet-on-ballista scheduler PORT
//!     fleet-on-ballista executor SCHEDULER-PORT PORT GRPC-PORT DIRECTORY
//!     fleet-on-ballista client SCHEDULER-PORT
//!
//! An executor prints `ready` once the scheduler knows it, and keeps what it shuffles in DIRECTORY. The client reads SQL
//! statements from its input, each ended by a line of `;`, and answers each with one Arrow IPC stream on its output. All of them
//! end with their input, and print what goes wrong.

use std::io::{BufRead, Write, stdin, stdout};
use std::sync::Arc;
use std::time::Duration;

use arrow::ipc::writer::StreamWriter;
use ballista::prelude::SessionContextExt;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::prelude::SessionContext;

const HOST: &str = "127.0.0.1";
/// A plan names each of 10,000 files, with what is known of it: more than the 16 MiB that messages may have by default.
const MESSAGE_BYTES: u32 = 1 << 30;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["scheduler", port] => scheduler(port.parse()?).await,
        ["executor", scheduler, port, grpc_port, directory] => {
            executor(scheduler.parse()?, port.parse()?, grpc_port.parse()?, directory).await
        }
        ["client", scheduler] => client(scheduler.parse()?).await,
        _ => Err("usage: fleet-on-ballista scheduler PORT | executor SCHEDULER-PORT PORT GRPC-PORT DIRECTORY | client SCHEDULER-PORT".into()),
    }
}

/// Ends the process with its input, which ends with the process that started this one.
fn end_with_input() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
}

async fn scheduler(port: u16) -> Outcome {
    end_with_input();
    let config = SchedulerConfig {
        bind_host: HOST.into(),
        external_host: HOST.into(),
        bind_port: port,
        grpc_server_max_decoding_message_size: MESSAGE_BYTES,
        grpc_server_max_encoding_message_size: MESSAGE_BYTES,
        grpc_client_max_message_size: MESSAGE_BYTES,
        ..Default::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    start_server(cluster, format!("{HOST}:{port}").parse()?, Arc::new(config)).await?;
    Ok(())
}

async fn executor(scheduler_port: u16, port: u16, grpc_port: u16, directory: &str) -> Outcome {
    end_with_input();
    let config = ExecutorProcessConfig {
        bind_host: HOST.into(),
        external_host: Some(HOST.into()),
        port,
        grpc_port,
        scheduler_host: HOST.into(),
        scheduler_port,
        scheduler_connect_timeout_seconds: 60,
        vcores: 1,
        work_dir: Some(directory.into()),
        grpc_max_decoding_message_size: MESSAGE_BYTES,
        grpc_max_encoding_message_size: MESSAGE_BYTES,
        executor_heartbeat_interval_seconds: 1,
        ..Default::default()
    };
    let health = config.health.clone();
    tokio::spawn(async move {
        while !health.is_ready() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        println!("ready");
    });
    start_executor_process(Arc::new(config)).await?;
    Ok(())
}

async fn client(scheduler_port: u16) -> Outcome {
    let context = SessionContext::remote(&format!("df://{HOST}:{scheduler_port}")).await?;
    context.sql(&format!("SET ballista.client.grpc_max_message_size = {MESSAGE_BYTES}")).await?.collect().await?;
    let mut statement = String::new();
    for line in stdin().lock().lines() {
        let line = line?;
        if line != ";" {
            statement += &line;
            statement.push('\n');
            continue;
        }
        let answer = context.sql(&std::mem::take(&mut statement)).await?;
        let schema = answer.schema().inner().clone();
        let batches = answer.collect().await?;
        let mut writer = StreamWriter::try_new(stdout().lock(), &schema)?;
        for batch in batches {
            writer.write(&batch)?;
        }
        writer.finish()?;
        stdout().flush()?;
    }
    Ok(())
}
