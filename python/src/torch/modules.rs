//! The modules of a program, and their names.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use opscope::onnx::Module;
use opscope_torch::ModulePath;
use pyo3::prelude::*;
use pyo3::types::PyWeakrefMethods;
use pyo3::types::PyWeakrefReference;

/// The modules that were found, by their addresses, and their parameters.
#[derive(Default)]
pub struct Modules {
    modules: HashMap<usize, Known>,
    parameters: HashMap<usize, Parameter>,
    names: HashSet<String>,
    /// The modules that could be called, by name, and whether they have parameters of their own.
    callable: BTreeSet<String>,
    called: BTreeSet<String>,
    read: BTreeSet<String>,
}

/// A module that was found.
struct Known {
    module: Py<PyWeakrefReference>,
    path: Arc<ModulePath>,
    class: Arc<str>,
}

struct Parameter {
    tensor: Py<PyWeakrefReference>,
    name: Arc<str>,
    module: Arc<ModulePath>,
}

/// The class of a part of `MultiheadAttention` whose parameters the attention itself uses, without a call.
const USED_BY_ATTENTION: &str = "NonDynamicallyQuantizableLinear";

/// Classes that hold modules and are never called themselves.
const CONTAINERS: [&str; 2] = ["ModuleList", "ModuleDict"];

impl Modules {
    /// Notes the call of a module. Returns its path and its class. `around` is the module whose call it is in.
    pub fn called(
        &mut self,
        module: &Bound<'_, PyAny>,
        around: Option<&Arc<ModulePath>>,
    ) -> PyResult<(Arc<ModulePath>, Arc<str>)> {
        if self.known(module).is_none() {
            self.find(module, around)?;
        }
        let known = self.known(module).map(|known| (Arc::clone(&known.path), Arc::clone(&known.class)));
        let (path, class) = known.ok_or_else(|| crate::failure::input("a module has no name"))?;
        if !self.called.contains(&path.name) {
            self.called.insert(path.name.clone());
        }
        Ok((path, class))
    }

    fn known(&self, module: &Bound<'_, PyAny>) -> Option<&Known> {
        let known = self.modules.get(&(module.as_ptr() as usize))?;
        known.module.bind(module.py()).upgrade().filter(|found| found.is(module)).map(|_| known)
    }

    /// Finds a module and those in it.
    fn find(&mut self, root: &Bound<'_, PyAny>, around: Option<&Arc<ModulePath>>) -> PyResult<()> {
        let class_name = root.get_type().name()?.to_string();
        let root_name = match around {
            None => self.free(&class_name),
            Some(around) => self.free(&format!("{}.?{class_name}", around.name)),
        };
        let mut chain: HashMap<String, Module> = HashMap::new();
        for pair in root.call_method0("named_modules")?.try_iter()? {
            let (path, module): (String, Bound<'_, PyAny>) = pair?.extract()?;
            let class = class_of(&module)?;
            let short = class.rsplit('.').next().unwrap_or(&class).to_owned();
            let name = match (path.is_empty(), around) {
                (true, _) => root_name.clone(),
                // Another outermost module may have modules of the same names.
                (false, None) if !self.names.contains(&path) => path.clone(),
                (false, _) => format!("{root_name}.{path}"),
            };
            let is_container = CONTAINERS.contains(&short.as_str());
            let prefixes = path.match_indices('.').map(|(at, _)| &path[..at]).chain([path.as_str()]);
            if !is_container && !path.is_empty() {
                chain.insert(path.clone(), Module { path: name.clone(), class: class.clone() });
            }
            let modules = prefixes.filter_map(|prefix| chain.get(prefix).cloned()).collect();
            self.names.insert(name.clone());
            let known_path = Arc::new(ModulePath { name: name.clone(), modules });
            if self.known(&module).is_some() {
                continue;
            }
            let has_parameters = self.find_parameters(&module, &known_path)?;
            if has_parameters && !is_container && short != USED_BY_ATTENTION {
                self.callable.insert(name);
            }
            let known = Known {
                module: PyWeakrefReference::new(&module)?.unbind(),
                path: known_path,
                class: Arc::from(short.as_str()),
            };
            self.modules.insert(module.as_ptr() as usize, known);
        }
        Ok(())
    }

    fn find_parameters(&mut self, module: &Bound<'_, PyAny>, path: &Arc<ModulePath>) -> PyResult<bool> {
        let mut has_parameters = false;
        for (method, is_parameter) in [("named_parameters", true), ("named_buffers", false)] {
            for pair in module.call_method(method, ("", false), None)?.try_iter()? {
                let (name, tensor): (String, Bound<'_, PyAny>) = pair?.extract()?;
                has_parameters |= is_parameter;
                if self.parameter_of(&tensor).is_some() {
                    continue;
                }
                let parameter = Parameter {
                    tensor: PyWeakrefReference::new(&tensor)?.unbind(),
                    name: Arc::from(format!("{}.{name}", path.name)),
                    module: Arc::clone(path),
                };
                self.parameters.insert(tensor.as_ptr() as usize, parameter);
            }
        }
        Ok(has_parameters)
    }

    fn parameter_of(&self, tensor: &Bound<'_, PyAny>) -> Option<&Parameter> {
        let known = self.parameters.get(&(tensor.as_ptr() as usize))?;
        known.tensor.bind(tensor.py()).upgrade().filter(|found| found.is(tensor)).map(|_| known)
    }

    /// Returns the name of a parameter or buffer, and the module that owns it.
    pub fn parameter(&self, tensor: &Bound<'_, PyAny>) -> Option<(Arc<str>, Arc<ModulePath>)> {
        self.parameter_of(tensor).map(|known| (Arc::clone(&known.name), Arc::clone(&known.module)))
    }

    /// Notes that an operator has read a parameter of a module that is not being called.
    pub fn read_without_call(&mut self, owner: &ModulePath) {
        if self.callable.contains(&owner.name) && !self.called.contains(&owner.name) {
            self.read.insert(owner.name.clone());
        }
    }

    /// The modules with parameters that were never called.
    pub fn not_called(&self) -> Vec<String> {
        self.callable.iter().filter(|name| !self.called.contains(*name)).cloned().collect()
    }

    /// The modules that were not called although their parameters were read.
    pub fn read(&self) -> Vec<String> {
        self.read.iter().filter(|name| !self.called.contains(*name)).cloned().collect()
    }

    pub fn calls(&self) -> u64 {
        self.called.len() as u64
    }

    fn free(&self, wanted: &str) -> String {
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let mut names = [wanted.to_owned()].into_iter().chain(numbered);
        names.find(|name| !self.names.contains(name)).unwrap_or_else(|| wanted.to_owned())
    }
}

/// The class of a module with the Python module that it is defined in.
fn class_of(module: &Bound<'_, PyAny>) -> PyResult<String> {
    let class = module.get_type();
    Ok(format!("{}.{}", class.module()?, class.qualname()?))
}
