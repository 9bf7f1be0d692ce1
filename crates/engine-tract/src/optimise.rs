//! tract's optimiser, with the rewrites held back that change what a model computes.

use opscope_model::{EngineError, PlanForm};
use tract_onnx::prelude::TypedModel;
use tract_onnx::tract_core::internal::TractResult;
use tract_onnx::tract_core::optim::{Optimizer, TypedPass};

use crate::provenance::Followed;

/// How far tract may rewrite a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Every pass: the fastest.
    Full,
    /// Every pass but the one of this name.
    Without(&'static str),
    /// Simpler, but with no operators of tract's own making.
    Decluttered,
    /// As the file has it.
    Plain,
}

impl Form {
    /// The forms, the fastest first.
    pub(crate) const ALL: &[Self] = &[
        Self::Full,
        Self::Without("ChangeAxes"),
        Self::Without("PushSliceUp"),
        Self::Without("PushSplitDown"),
        Self::Without("ConcatThenEinsum"),
        Self::Without("fuse"),
        Self::Decluttered,
        Self::Plain,
    ];

    /// What a user sees of it.
    pub(crate) fn name(self) -> PlanForm {
        PlanForm::new(match self {
            Form::Full => "every rewrite".to_owned(),
            Form::Without(pass) => format!("every rewrite but {pass}"),
            Form::Decluttered => "decluttered only".to_owned(),
            Form::Plain => "no rewrites".to_owned(),
        })
    }

    /// The form of a name.
    pub(crate) fn named(name: &PlanForm) -> Result<Self, EngineError> {
        let found = Self::ALL.iter().copied().find(|form| form.name() == *name);
        found.ok_or_else(|| EngineError::Load { node: None, reason: format!("it has no plans with '{}'", name.name()) })
    }
}

/// Rewrites a model until nothing is left to make faster.
pub(crate) fn optimise(mut model: TypedModel, form: Form) -> TractResult<TypedModel> {
    if form == Form::Plain {
        return Ok(model);
    }
    optimiser(Optimizer::declutter(), form).optimize(&mut model)?;
    if form != Form::Decluttered {
        model.optimize_with_session(&mut optimiser(Optimizer::codegen(), form).session())?;
    }
    Ok(model)
}

/// The passes that a form has. The values of the file are followed through them.
fn optimiser(all: Optimizer, form: Form) -> Optimizer {
    let is_wanted = |pass: &Box<dyn TypedPass>| !matches!(form, Form::Without(name) if format!("{pass:?}") == name);
    let passes = all.passes.into_iter().filter(is_wanted).map(|pass| Box::new(Followed::new(pass)) as _).collect();
    Optimizer { passes, ..all }
}
