//! The help in three lengths: `-h` fits on one screen, `--help` has every option that has an effect, and `--help-all`
//! also has those of other tools. [`pages`] is the table of examples, and [`tips`] that of other tools' words.

mod numbers;
mod pages;
mod tips;

use std::error::Error as _;
use std::ffi::OsString;
use std::fmt::Write;
use std::num::ParseIntError;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, Error};

pub use self::pages::{ENVIRONMENT, EXIT_CODES, Page, page};
pub use self::tips::mistaken;
use self::tips::{of_command, of_engine, of_option};
use opscope::text::wrapped;

use crate::options::{NOTED, REFUSED, is_model};

/// The length of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Short,
    Full,
    All,
}

/// Returns the help that a command line requests. `words` are those that clap refused with `error`.
pub fn asked(error: &Error, words: &[OsString], opscope: &Command) -> Option<String> {
    let length = match error.kind() {
        ErrorKind::DisplayHelp if words.iter().any(|word| word == "--help-all") => Length::All,
        ErrorKind::DisplayHelp if words.iter().any(|word| word == "-h") => Length::Short,
        ErrorKind::DisplayHelp => Length::Full,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Length::Short,
        _ => return None,
    };
    Some(rendered(command_of(words, opscope), opscope, length))
}

/// Returns the command line with `benchmark` inserted before its options if a model but no command follows them: people
/// put the model last.
pub fn with_command(words: &[OsString], opscope: &dyn Fn() -> Command) -> Vec<OsString> {
    let mut words = words.to_vec();
    let begins_with_option = words.get(1).is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"));
    if begins_with_option && words.iter().skip(1).any(|word| is_model(word)) {
        let opscope = opscope();
        let is_own = |word: &OsString| ["-h", "--help", "--help-all", "-V", "--version"].iter().any(|own| word == own);
        if !words.iter().skip(1).any(|word| is_own(word) || opscope.find_subcommand(word).is_some()) {
            words.insert(1, "benchmark".into());
        }
    }
    words
}

/// Returns what is wrong with a command line and what would be right, if that can be said better than clap does.
pub fn refusal(error: &Error, words: &[OsString], opscope: &Command) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let option = context(ContextKind::InvalidArg)?;
            if option.strip_prefix('-').is_some_and(|digits| digits.parse::<u64>().is_ok()) {
                let before = words.iter().position(|word| word == option)?.checked_sub(1)?;
                return numbers::refusal(words[before].to_str()?, option, command_of(words, opscope));
            }
            Some(format!("unknown option '{option}'; {}", of_option(option)?))
        }
        ErrorKind::InvalidSubcommand => {
            let command = context(ContextKind::InvalidSubcommand)?;
            Some(format!("unknown command '{command}'; {}", of_command(command)?))
        }
        ErrorKind::ValueValidation if error.source().is_some_and(|reason| reason.is::<ParseIntError>()) => {
            let option = context(ContextKind::InvalidArg)?.split(' ').next()?;
            numbers::refusal(option, context(ContextKind::InvalidValue)?, command_of(words, opscope))
        }
        ErrorKind::InvalidValue if context(ContextKind::InvalidArg)?.contains("engine <") => {
            of_engine(context(ContextKind::InvalidValue)?)
        }
        _ => None,
    }
}

/// Returns the command that a command line names, or else the program.
fn command_of<'c>(words: &[OsString], opscope: &'c Command) -> &'c Command {
    let mut names = words.iter().skip(1).filter(|word| !word.to_string_lossy().starts_with('-'));
    let first = names.next().filter(|word| *word != "help").or_else(|| names.next());
    first.and_then(|name| opscope.find_subcommand(name)).unwrap_or(opscope)
}

/// Returns the program as completions and manual pages show it: without hidden commands and without the options of
/// other tools.
pub fn own(opscope: &Command) -> Command {
    let commands = opscope.get_subcommands().filter(|command| !command.is_hide_set());
    let commands = commands.map(|command| with_options(command, |option| !is_foreign(option)));
    let about = opscope.get_about().cloned().unwrap_or_default();
    Command::new("opscope").about(about).version(env!("CARGO_PKG_VERSION")).subcommands(commands)
}

fn is_foreign(option: &Arg) -> bool {
    option.get_help_heading().is_some_and(|heading| heading == NOTED || heading == REFUSED)
}

fn is_boolean(option: &Arg) -> bool {
    let is_named = option.get_value_names().is_some_and(|names| names.iter().any(|name| name == "BOOL"));
    is_named && option.get_num_args().is_some_and(|count| count.min_values() == 0)
}

/// Returns a command with the options that `keep` selects.
fn with_options(command: &Command, keep: impl Fn(&Arg) -> bool) -> Command {
    let name = page(command.get_name()).map_or("opscope", |page| page.command);
    let mut kept = Command::new(name).disable_help_subcommand(true);
    if let Some(about) = command.get_about() {
        kept = kept.about(about.clone());
    }
    // clap adds a command for help when it builds the program.
    let is_shown = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    let shown = command.get_subcommands().filter(is_shown).cloned();
    let options = command.get_arguments().filter(|option| keep(option)).cloned();
    kept.subcommands(shown).args(options)
}

/// The commands that the help on one screen leaves to the longer one.
const SELDOM: [&str; 3] = ["recover", "completions", "vendor-env"];

fn rendered(command: &Command, opscope: &Command, length: Length) -> String {
    let name = if command.get_name() == opscope.get_name() { "" } else { command.get_name() };
    let page = page(name);
    let is_shown = |option: &Arg| match length {
        _ if option.get_long() == Some("help-all") => false,
        Length::All => true,
        Length::Full => !is_foreign(option),
        Length::Short => page.is_some_and(|page| page.options.iter().any(|(name, _)| *name == name_of(option))),
    };
    let has_foreign = command.get_arguments().any(is_foreign);
    let mut shown = with_options(command, is_shown);
    shown = shown.mut_args(|option| match page.filter(|_| length == Length::Short) {
        Some(page) => brief(plain(option), page),
        None => plain(option),
    });
    if length == Length::Short {
        shown = shown.mut_subcommands(|command| {
            let is_seldom = SELDOM.contains(&command.get_name());
            command.hide(is_seldom)
        });
    }
    let own_name = if name.is_empty() { "opscope".to_owned() } else { format!("opscope {name}") };
    shown = shown.bin_name(&own_name).disable_help_subcommand(true).disable_help_flag(true).help_template(template(
        page,
        &own_name,
        name,
        length,
        has_foreign,
    ));
    if name.is_empty() {
        shown = shown.override_usage("opscope MODEL.onnx [OPTIONS]\n       opscope <COMMAND> [OPTIONS]");
    }
    shown.render_help().to_string()
}

/// Returns the name by which a page lists an option or argument.
fn name_of(option: &Arg) -> &str {
    option.get_long().unwrap_or_else(|| option.get_id().as_str())
}

/// Returns an option as the help shows it: a switch appears without its value.
fn plain(mut option: Arg) -> Arg {
    if is_boolean(&option) {
        option = option.action(ArgAction::SetTrue).num_args(0).require_equals(false);
        option = option.default_missing_value(Resettable::Reset);
    }
    if option.is_positional() {
        option = option.help_heading(Resettable::Reset);
    }
    option
}

/// Returns an option as the short help shows it: with the page's text.
fn brief(mut option: Arg, page: &Page) -> Arg {
    let words = page.options.iter().find(|(name, _)| *name == name_of(&option)).map(|(_, words)| *words);
    if option.get_action().takes_values() {
        option = option.hide_possible_values(true).hide_default_value(true);
    }
    option.help(words).help_heading(Resettable::Reset)
}

fn template(page: Option<&Page>, own_name: &str, name: &str, length: Length, has_foreign: bool) -> String {
    let examples = page.map(|page| format!("Examples:\n{}", examples(page))).unwrap_or_default();
    if length == Length::Short {
        let more = match name {
            "" => "`opscope COMMAND -h` shows the options of a command, `opscope --help` says more.".to_owned(),
            _ => format!("`{own_name} --help` shows every option."),
        };
        return format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{examples}\n{{all-args}}\n\n{more}\n");
    }
    let mut end = format!("{examples}\nEnvironment:\n");
    if name.is_empty() {
        for (name, what) in &ENVIRONMENT {
            for (at, line) in wrapped(what, 80 - 26).iter().enumerate() {
                let _ = writeln!(end, "  {:<24}{line}", if at == 0 { name } else { "" });
            }
        }
    } else {
        end = examples;
    }
    let codes: Vec<String> = EXIT_CODES.iter().map(|(code, what)| format!("{code} {what}")).collect();
    let codes = format!("Exit codes: {}.", codes.join(", "));
    let _ = write!(end, "\n{}\n", wrapped(&codes, 80).join("\n"));
    end.push_str("Help: -h shows one screen, --help every option.\n");
    if has_foreign && length == Length::Full {
        end.push_str("--help-all also shows options of other tools that have no effect here.\n");
    }
    format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{{all-args}}\n\n{end}")
}

fn examples(page: &Page) -> String {
    let width = page.examples.iter().map(|(line, _)| line.len()).max().unwrap_or(0) + 2;
    let mut text = String::new();
    for (line, what) in &page.examples {
        let _ = writeln!(text, "  {line:<width$}{what}");
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    #[test]
    fn a_screen_has_at_most_24_lines_of_80_columns() {
        let mut opscope = Cli::command().term_width(80);
        opscope.build();
        for command in opscope.get_subcommands().chain([&opscope]).filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            if name == "help" {
                continue;
            }
            let text = rendered(command, &opscope, Length::Short);
            assert!(text.lines().count() <= 24, "{name} has {} lines:\n{text}", text.lines().count());
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
        }
    }
}
