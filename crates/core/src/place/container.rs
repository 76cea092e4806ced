//! Containers: those of an engine that runs here, instances and images of Apptainer, and pods of Kubernetes.
//!
//! Names are read, and nothing is asked. What becomes a word of a command line cannot be taken for an option.

use super::BadPlace;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A container that answered once, as the program says that keeps it. A name may mean another one later, and the same
/// container may be stopped and started.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContainerRef {
    /// Who says so. The same id means nothing to another engine.
    pub engine: String,
    /// The engine never gives it to another container.
    pub id: String,
    /// When it was started, in the engine's words.
    pub started: String,
}

impl ContainerRef {
    /// Whether it is the same container, perhaps started again.
    pub fn is(&self, other: &ContainerRef) -> bool {
        (&self.engine, &self.id) == (&other.engine, &other.id)
    }
}

/// The program that is asked about containers and runs programs in them. Both take the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    Docker,
    Podman,
}

impl Engine {
    /// The kind of place, and the name of the program.
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Docker => "docker",
            Engine::Podman => "podman",
        }
    }
}

/// A container of an engine: `NAME[?user=USER]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Container {
    pub engine: Engine,
    /// Its name or its id.
    pub name: String,
    /// Who runs programs in it; else the user that the container is configured with.
    pub user: Option<String>,
}

impl Container {
    pub(super) fn parse(engine: Engine, text: &str) -> Result<Container, BadPlace> {
        let bad = |why| BadPlace::bad("a container", text, why);
        let (name, user) = match text.split_once('?') {
            None => (text, None),
            Some((name, query)) => match query.split_once('=') {
                Some(("user", user)) => (name, Some(user)),
                _ => return Err(bad("after ? only user=USER is known")),
            },
        };
        check_name(name).map_err(bad)?;
        user.map_or(Ok(()), check_name).map_err(bad)?;
        Ok(Container {
            engine,
            name: name.to_owned(),
            user: user.map(str::to_owned),
        })
    }
}

impl fmt::Display for Container {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.engine.as_str(), self.name)?;
        match &self.user {
            Some(user) => write!(out, "?user={user}"),
            None => Ok(()),
        }
    }
}

/// The command that runs containers of images in files. Singularity is what Apptainer was called before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Runner {
    Apptainer,
    Singularity,
}

impl Runner {
    /// The kind of place, and the name of the program.
    pub fn as_str(self) -> &'static str {
        match self {
            Runner::Apptainer => "apptainer",
            Runner::Singularity => "singularity",
        }
    }
}

/// A running instance: `instance://NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ApptainerInstance {
    pub runner: Runner,
    pub name: String,
}

/// An image, of which each job gets a container of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ApptainerImage {
    pub runner: Runner,
    /// A file, or an address such as `docker://…`.
    pub image: String,
}

/// What stands before the name of an instance.
pub const INSTANCE: &str = "instance://";

impl ApptainerInstance {
    pub(super) fn parse(runner: Runner, name: &str) -> Result<ApptainerInstance, BadPlace> {
        check_name(name).map_err(|why| BadPlace::bad("an instance", name, why))?;
        Ok(ApptainerInstance {
            runner,
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for ApptainerInstance {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{INSTANCE}{}", self.runner.as_str(), self.name)
    }
}

impl ApptainerImage {
    pub(super) fn parse(runner: Runner, image: &str) -> Result<ApptainerImage, BadPlace> {
        let bad = |why| Err(BadPlace::bad("an image", image, why));
        match image {
            "" => bad("it is empty"),
            image if image.starts_with('-') => bad("it begins with a hyphen"),
            _ => Ok(ApptainerImage {
                runner,
                image: image.to_owned(),
            }),
        }
    }
}

impl fmt::Display for ApptainerImage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.runner.as_str(), self.image)
    }
}

/// A running pod of Kubernetes: `[CONTEXT/][NAMESPACE/]pod/NAME[/CONTAINER]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pod {
    /// The context of `kubectl`; its name may contain slashes.
    pub context: Option<String>,
    pub namespace: Option<String>,
    pub name: String,
    /// Else the first container, or the one that the pod names as its default.
    pub container: Option<String>,
}

impl Pod {
    pub(super) fn parse(text: &str) -> Result<Pod, BadPlace> {
        let bad = |why| BadPlace::bad("a pod", text, why);
        let words: Vec<&str> = text.split('/').collect();
        let at = words.iter().rposition(|word| *word == "pod");
        let at = at.ok_or_else(|| bad("write kube:[CONTEXT/][NAMESPACE/]pod/NAME[/CONTAINER]"))?;
        let (before, after) = (&words[..at], &words[at + 1..]);
        let (name, container) = match after {
            [name] => (*name, None),
            [name, container] => (*name, Some(*container)),
            _ => return Err(bad("after pod/ stand its name and perhaps a container")),
        };
        let (context, namespace) = match before.split_last() {
            None => (None, None),
            Some((namespace, [])) => (None, Some(*namespace)),
            Some((namespace, context)) => (Some(context.join("/")), Some(*namespace)),
        };
        // `CONTEXT//pod/NAME`: the namespace of the context.
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        for name in [Some(name), container, namespace].into_iter().flatten() {
            check_name(name).map_err(bad)?;
        }
        if let Some(context) = &context {
            check_word(context).map_err(bad)?;
        }
        Ok(Pod {
            context,
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
            container: container.map(str::to_owned),
        })
    }
}

impl fmt::Display for Pod {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("kube:")?;
        if let Some(context) = &self.context {
            write!(out, "{context}/")?;
        }
        match (&self.namespace, &self.context) {
            (Some(namespace), _) => write!(out, "{namespace}/")?,
            (None, Some(_)) => out.write_str("/")?,
            (None, None) => {}
        }
        write!(out, "pod/{}", self.name)?;
        match &self.container {
            Some(container) => write!(out, "/{container}"),
            None => Ok(()),
        }
    }
}

/// Names of containers, instances and users: letters and digits of ASCII, and a few signs.
fn check_name(name: &str) -> Result<(), &'static str> {
    check_word(name)?;
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-:".contains(&byte);
    match name.bytes().all(is_known) {
        true => Ok(()),
        false => Err("it contains something else than letters, digits, _ . and -"),
    }
}

/// What can be a word of a command line.
fn check_word(word: &str) -> Result<(), &'static str> {
    match word {
        "" => Err("a part of it is empty"),
        word if word.starts_with('-') => Err("it begins with a hyphen"),
        word if word.contains(char::is_whitespace) => Err("it contains a space"),
        _ => Ok(()),
    }
}
