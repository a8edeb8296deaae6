"""The meaning of an experiment file of valid shape: its names, roles, lists and tools."""

from __future__ import annotations

import graphlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netlimits.errors import did_you_mean
from netlimits.experiment import schema, search, templates
from netlimits.experiment.around_schema import AROUND, PROFILE
from netlimits.experiment.document import KeyPath
from netlimits.experiment.expressions import shown
from netlimits.experiment.hosts_file import members_of
from netlimits.experiment.mesh import pairs
from netlimits.experiment.overrides import Source
from netlimits.experiment.validation import profiles, report_entries
from netlimits.experiment.validation.names import Names
from netlimits.experiment.validation.salvage import Salvage
from netlimits.model import Experiment, Mesh, Repeat, Scalar, SettingUse, Values
from netlimits.tools import PROGRAM_OPTIONS

Lists = Mapping[str, tuple[Scalar, ...]]
Groups = Mapping[str, tuple[str, ...]]


class Reader:
    """Builds an Experiment from data of valid shape, checking what its names refer to."""

    def __init__(self, salvaged: Salvage, where: Source, text: str) -> None:
        self.salvaged = salvaged
        self.data = salvaged.data
        self.where = where
        self.text = text
        self.names = Names(where, salvaged)
        self.mesh: Mesh | None = None
        self.unchosen: tuple[str, ...] = ()
        if isinstance(self.data.get("roles"), dict):
            self.mesh = pairs.mesh(self.data["roles"])
            self.names.known += [Mesh.SENDER, Mesh.RECEIVER]
        if isinstance(sought := self.data.get("search"), dict) and "of" in sought:
            self.names.known += [sought["of"]]

    def experiment(self) -> Experiment:
        factors = {
            name: self.values(values, ("factors", name))
            for name, values in self.data.get("factors", {}).items()
        }
        factors |= self.searched()
        zips = (*self.zips(), *self.pairs())
        given = dict(factors)
        for group in zips:
            given.update(group)
        derive = self.derive()
        exclude = tuple(self.exclude())
        groups = {pairs.HOSTS: self.mesh.hosts} if self.mesh else self.groups()
        ends = pairs.ENDS_OF_ROLE if self.mesh else groups
        measure = self.measure(given)
        return Experiment(
            name=self.data.get("experiment", ""),
            path=self.where.path,
            text=self.text,
            overrides=self.where.overrides,
            question=self.data.get("question", ""),
            source=self.data.get("source", ""),
            roles=tuple(member for members in groups.values() for member in members),
            groups=groups,
            factors=factors,
            zips=zips,
            dummies=tuple(self.data.get("dummies", ())),
            derive=derive,
            exclude=exclude,
            include=tuple(self.include(given)),
            settings=tuple(self.settings(ends)),
            measure=measure,
            unchosen=self.unchosen,
            around=self.around(ends),
            repeat=self.repeat(),
            report=tuple(self.report(given)),
            lines=self.where.lines,
            mesh=self.mesh,
        )

    def pairs(self) -> Iterator[Lists]:
        if not self.mesh:
            return
        for problem, *key in pairs.faults(self.data["roles"]):
            self.names.fault(problem, "roles", *key)
        for name in (Mesh.SENDER, Mesh.RECEIVER):
            self.names.define(name, ("roles",))
        if "include" in self.data:
            problem = "has no pair of hosts: a mesh takes no `include`; list its `pairs`"
            self.names.fault(problem, "include")
        senders, receivers = zip(*self.mesh.pairs, strict=True) if self.mesh.pairs else ((), ())
        yield {Mesh.SENDER: senders, Mesh.RECEIVER: receivers}

    def searched(self) -> dict[str, tuple[Scalar, ...]]:
        """Return the load that is searched, as a factor with its lowest and highest value."""
        options = self.data.get("search")
        if not isinstance(options, dict) or not {"of", "from", "to"} <= options.keys():
            return {}
        for name in ("of", "from", "to"):
            if templates.is_template(options[name]):
                self.names.fault("must be a value, the same for all searches", "search", name)
                return {}
        self.names.define(options["of"], ("search", "of"))
        low, high = search.limits(options)
        if low >= high:
            self.names.fault(
                f"must be more than `from`, which is {options['from']}", "search", "to"
            )
            return {}
        if self.mesh:
            self.names.fault("is for one pair of hosts, not for a mesh", "search")
        if "include" in self.data:
            self.names.fault("has no load: a search takes no `include`", "include")
        if (order := self.data.get("repeat", {}).get("order", "blocked")) not in search.ORDERS:
            self.names.fault(
                f"the trials of a search run one after the other, unlike {order}; use "
                f"{' or '.join(search.ORDERS)}",
                *("repeat", "order"),
            )
        return {options["of"]: (low, high)}

    def values(self, values: list[Scalar], key: KeyPath) -> tuple[Scalar, ...]:
        self.names.define(str(key[-1]), key)
        self.names.unique(values, key)
        return tuple(values)

    def zips(self) -> Iterator[Lists]:
        block = self.data.get("zip", [])
        numbered = isinstance(block, list)
        for number, group in enumerate(block if numbered else [block]):
            key: KeyPath = ("zip", number) if numbered else ("zip",)
            if not group:
                self.names.fault("has no lists", *key)
                yield {}
                continue
            first = next(iter(group))
            equal = True
            for name in group:
                self.names.define(name, (*key, name))
                if len(group[name]) != len(group[first]):
                    equal = False
                    self.names.fault(
                        f"has {len(group[name])} values and {first} has {len(group[first])}; "
                        "lists that move together need the same number of values",
                        *key,
                        name,
                    )
            complete = all(cut[:-1] != key for cut in self.salvaged.cuts)
            if equal and complete:
                self.names.unique(zip(*group.values(), strict=True), (*key, first))
            yield {name: tuple(values) for name, values in group.items()}

    def derive(self) -> dict[str, str]:
        block: dict[str, Any] = self.data.get("derive", {})
        for name in block:
            self.names.define(name, ("derive", name))
        every = {
            name: self.names.expression(written, ("derive", name), self.names.known)
            for name, written in block.items()
        }
        formulas = {name: expression for name, expression in every.items() if expression}
        sorter = graphlib.TopologicalSorter[str]()
        for name, expression in formulas.items():
            sorter.add(name, *sorted(expression.names & set(formulas)))
        try:
            order = tuple(sorter.static_order())
        except graphlib.CycleError as error:
            loop = error.args[1][::-1]
            self.names.fault(
                f"is defined by itself ({' needs '.join(loop)}); break the loop", "derive", loop[0]
            )
            order = tuple(formulas)
        return {name: formulas[name].text for name in order}

    def exclude(self) -> Iterator[str]:
        for number, written in enumerate(self.data.get("exclude", [])):
            expression = self.names.expression(written, ("exclude", number), self.names.known)
            yield expression.text if expression else templates.written(written)

    def include(self, given: Lists) -> Iterator[Values]:
        for number, row in enumerate(self.data.get("include", [])):
            key: KeyPath = ("include", number)
            for name in row:
                if name in self.data.get("derive", {}):
                    self.names.fault("is derived; leave it out", *key, name)
                elif name not in self.salvaged.factors:
                    self.names.no_factor(name, self.salvaged.factors, *key, name)
            missing = [name for name in self.salvaged.factors if name not in row]
            if missing:
                self.names.fault(f"gives no value to {', '.join(missing)}", *key)
            yield {name: row[name] for name in given if name in row}

    def groups(self) -> dict[str, tuple[str, ...]]:
        groups: dict[str, tuple[str, ...]] = {}
        for number, entry in enumerate(self.data.get("roles", schema.ROLES)):
            ((role, count),) = entry.items() if isinstance(entry, dict) else ((entry, None),)
            members = (role,) if count is None else members_of(role, count)
            taken = {*groups, *(member for group in groups.values() for member in group)}
            if twice := taken & {role, *members}:
                self.names.fault(f"has {shown(min(twice))} twice", "roles", number)
            groups[role] = members
        if len(next(iter(groups.values()))) > 1:
            self.names.fault("the first role runs the client: it is one machine", "roles", 0)
        return groups

    def players(self, roles: Sequence[str], groups: Groups, *key: str | int) -> tuple[str, ...]:
        """Return the machines of the roles at a key; `sinks` stands for all of its machines."""
        unsure = any(steps[0] == "roles" for steps in self._faulty())
        for index, role in enumerate(roles):
            if role not in groups and not unsure and not self.names.may_be(role):
                self.names.fault(
                    f"no role is called {role}{did_you_mean(role, groups)}", *key, index
                )
        self.names.unique(roles, key)
        return tuple(member for role in roles for member in groups.get(role, ()))

    def around(self, groups: Groups) -> dict[str, Any]:
        """Return the keys of AROUND, with machines as the roles of `trace` and `profile`."""
        parts = {name: self.data[name] for name in AROUND if name in self.data}
        for name, written in parts.items():
            self.names.lookups(written, (name,))
        for name in ("trace", PROFILE):
            if name in parts and not isinstance(parts[name], dict):
                self.names.fault(f"must be a mapping, not {parts.pop(name)}", name)
            if name in parts:
                written = parts[name].get("roles", profiles.ends(groups))
                roles = self.players(written, groups, name, "roles")
                parts[name] = {**parts[name], "roles": list(roles) or written}
        if PROFILE in parts:
            profiles.check(self.names, self.data, groups)
        return parts

    def settings(self, groups: Groups) -> Iterator[SettingUse]:
        for number, entry in enumerate(self.data.get("settings", [])):
            roles = self.players(entry["roles"], groups, "settings", number, "roles")
            if entry.keys() <= {"roles", schema.WHEN}:
                self.names.fault("sets nothing on its roles", "settings", number)
            key: KeyPath = ("settings", number, schema.WHEN)
            condition = None
            if schema.WHEN in entry:
                condition = self.names.expression(entry[schema.WHEN], key, self.names.known)
            for name, options in entry.items():
                if name in ("roles", schema.WHEN):
                    continue
                key = ("settings", number, name)
                self.names.lookups(options, key)
                line = self.where.line(key) or 0
                yield SettingUse(
                    name, roles, options, line, number, condition.text if condition else ""
                )

    def measure(self, given: Lists) -> dict[str, Mapping[str, Any]]:
        tools: dict[str, Mapping[str, Any]] = self.data.get("measure", {})
        for name, options in tools.items():
            self.names.lookups(options, ("measure", name))
            if not isinstance(options, dict):  # a `${name}`, which the schema allows
                self.names.fault(f"must be a mapping, not {options}", "measure", name)
                continue
            policy = options.get(schema.IF_MISSING)
            if templates.is_template(policy):
                problem = f"must be fail or skip, not {policy}: one answer for all configurations"
                self.names.fault(problem, "measure", name, schema.IF_MISSING)
            for option in PROGRAM_OPTIONS:
                if templates.is_template(options.get(option)):
                    problem = (
                        f"must be a path, not {options[option]}: one program for all "
                        "configurations; `run --against` compares two"
                    )
                    self.names.fault(problem, "measure", name, option)
        if not tools or any(steps[0] == "measure" and len(steps) == 2 for steps in self._faulty()):
            return tools
        given = self.sure(given)
        if "tool" not in given:
            if "tool" in self.data.get("derive", {}):
                self.names.fault("chooses the tool; make it a factor", "derive", "tool")
            elif (
                len(tools) > 1 and "tool" not in self.names.known and not self.names.may_be("tool")
            ):
                self.names.fault(
                    f"has {len(tools)} tools; choose by a factor: tool: [{', '.join(tools)}]",
                    "measure",
                    [*tools][-1],
                )
            return tools
        rows = [
            ("include", i, row["tool"])
            for i, row in enumerate(self.data.get("include", []))
            if "tool" in row
        ]
        chosen = [*given["tool"], *(row[2] for row in rows)]
        for tool in dict.fromkeys(chosen):
            if tool not in tools:
                near = did_you_mean(str(tool), tools)
                listed = "tool" in self.data.get("factors", {})
                key = ("factors", "tool") if listed else ("zip",)
                self.names.fault(f"no tool under measure is called {shown(tool)}{near}", *key)
        if tools.keys() >= {*chosen}:
            self.unchosen = tuple(name for name in tools if name not in chosen)
        return {name: options for name, options in tools.items() if name not in self.unchosen}

    def sure(self, given: Lists) -> Lists:
        """Return the factors whose values have no error."""
        wrong = {step for steps in self._faulty() if steps[0] == "factors" for step in steps[1:2]}
        if any(steps[0] == "zip" for steps in self._faulty()):
            wrong |= given.keys() - self.data.get("factors", {}).keys()
        return {name: values for name, values in given.items() if name not in wrong}

    def _faulty(self) -> Iterator[KeyPath]:
        """Yield the keys of all errors so far."""
        yield from self.salvaged.cuts
        yield from (error.steps for error in self.names.errors)

    def repeat(self) -> Repeat:
        block: dict[str, Any] = self.data.get("repeat", {})
        order = block.get("order", "blocked")
        if order == "coin-flips" and self.mesh:
            problem = "has no rounds, which a mesh needs; use blocked"
            self.names.fault(problem, "repeat", "order")
        if order == "coin-flips":
            if "replicates" in block:
                self.names.fault(
                    "is not for coin-flips, where chance decides how often each configuration "
                    "runs; say how many `runs`",
                    *("repeat", "replicates"),
                )
            elif "runs" not in block:
                self.names.fault("coin-flips needs `runs`, the number of runs", "repeat")
            if "include" in self.data:
                self.names.fault("coin-flips cannot select an included configuration", "include")
            return Repeat(1, order, block.get("seed"), block.get("runs"))
        if "runs" in block:
            self.names.fault(
                f"is for coin-flips only; {order} takes `replicates`, runs of each configuration",
                *("repeat", "runs"),
            )
        replicates = block.get("replicates", 1)
        if templates.is_template(replicates):
            by = self.names.lookup(replicates, ("repeat", "replicates"))
            return Repeat(order=order, seed=block.get("seed"), replicates_by=by)
        return Repeat(replicates, order, block.get("seed"))

    def report(self, given: Lists) -> Iterator[Mapping[str, Any]]:
        overridden = {name.partition(".")[2] for name, _ in self.where.overrides}
        return report_entries.entries(self.data, self.names, self.sure(given), overridden)
