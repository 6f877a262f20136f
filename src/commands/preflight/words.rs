//! What was found out of a registry, for people.

use registry::{Ability, BodyLimit, Space};

use super::shown::ShownPreflight;
use crate::args::choose;
use crate::commands::refusal;
use crate::render;

impl ShownPreflight {
    /// All of it.
    pub(super) fn show(&self) {
        let Self { registry, .. } = self;
        let tls = choose(self.tls, "HTTPS", "plain HTTP");
        render::line!("registry  {registry}: reached, {tls}");
        render::line!("login     {}", self.login_words());
        if let Some(archive) = &self.archive {
            let missing = render::bytes(archive.bytes_to_push);
            let count = render::images(archive.images, archive.referrers);
            let present = archive.images_present;
            let solution = &archive.solution;
            render::line!("archive   {solution}: {count}, {present} in place, {missing} to push");
        }
        let taken = self.repositories.iter().filter(|it| it.push).count();
        let all = match self.repositories.len() {
            1 => "1 repository".to_owned(),
            all => format!("{all} repositories"),
        };
        render::line!("push      {taken} of {all}");
        if let Some(limit) = self.level_limit {
            let most = render::count(limit, "level");
            render::line!("names     at most {most}, including the prefix");
        }
        render::line!("mount     {}", in_words(&self.mount));
        render::line!("parts     {}", self.chunk_words());
        render::line!("resume    {}", in_words(&self.resume));
        render::line!("cancel    {}", in_words(&self.cancel));
        render::line!("body      {}", limit_in_words(&self.body_limit));
        render::line!("delete    {}", in_words(&self.delete));
        render::line!("space     {}", space_in_words(&self.space));
        if !self.obstacles.is_empty() {
            refusal::show(&self.obstacles, " for a push");
        }
    }

    fn login_words(&self) -> String {
        let who = self.login.as_ref().map(|login| {
            let name = login.username.as_deref().unwrap_or("a token");
            format!("{name}, of {}", login.file.display())
        });
        let by = self.token_server.as_ref();
        let by = by.map_or(String::new(), |it| format!(", checked by {it}"));
        match (who, self.login_asked) {
            (Some(who), true) => format!("{who}{by}"),
            (Some(who), false) => format!("{who}: not requested by the registry, so not checked"),
            (None, true) => format!("anonymous{by}"),
            (None, false) => "none, and the registry requests none".to_owned(),
        }
    }

    fn chunk_words(&self) -> String {
        match self.smallest_chunk {
            Some(smallest) => format!("yes, at least {} each", render::bytes(smallest)),
            None => in_words(&self.chunks),
        }
    }
}

fn in_words(ability: &Ability) -> String {
    match ability {
        Ability::Yes => "yes".to_owned(),
        Ability::No(reason) => format!("no: {reason}"),
        Ability::Unknown(reason) => format!("unknown: {reason}"),
    }
}

fn limit_in_words(body: &BodyLimit) -> String {
    let bytes = |size: &u64| render::bytes(*size);
    match body {
        BodyLimit::NoneSeen { taken } => format!("no limit up to {}", bytes(taken)),
        BodyLimit::Limited { refused, taken } => {
            let so = match taken.as_ref().map(bytes) {
                Some(taken) => format!("{taken} are accepted, so larger blobs are pushed in parts"),
                None => "no blob of that size can be pushed in one request".to_owned(),
            };
            format!("less than {}: {so}", bytes(refused))
        }
        BodyLimit::Unknown { reason } => format!("unknown: {reason}"),
    }
}

fn space_in_words(space: &Space) -> String {
    match space {
        Space::Known {
            project,
            limit: Some(limit),
            used,
        } => {
            let free = render::bytes(limit.saturating_sub(*used));
            format!(
                "{free} of {} free in project {project}",
                render::bytes(*limit)
            )
        }
        Space::Known { project, .. } => format!("project {project} has no quota"),
        Space::NoProject { project } => format!("project {project} does not exist"),
        Space::Unknown { reason } => format!("unknown: {reason}"),
    }
}
