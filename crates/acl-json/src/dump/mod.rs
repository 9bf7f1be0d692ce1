//! The section `dump`: which tensors of which models to dump, and what it selects in a given model.

mod list;
mod model_names;
mod open;
mod section;
mod selection;

pub use list::{DumpedModel, Excluded, NameRange};
pub use model_names::{ModelNames, NamedOperator};
pub use section::{DumpContent, DumpLevel, DumpSection, Statistic};
pub use selection::{AclError, SelectedSlots};

pub(crate) use section::{Captured, local_directory, read};
