// SPDX-License-Identifier: MIT
#include "tests/support/kernel/attr_text.h"

#include <sstream>

namespace flowback::test {

AttrFields FieldsOf(const perf_event_attr& attr) {
  AttrFields fields;
  const auto add = [&](const char* name, uint64_t value) {
    if (value != 0) fields[name] = value;
  };
#define FIELD(name) add(#name, attr.name)
  FIELD(type), FIELD(config), FIELD(config1), FIELD(config2), FIELD(sample_period);
  FIELD(sample_type), FIELD(read_format), FIELD(disabled), FIELD(inherit), FIELD(pinned);
  FIELD(exclusive), FIELD(exclude_user), FIELD(exclude_kernel), FIELD(exclude_hv);
  FIELD(exclude_idle), FIELD(mmap), FIELD(comm), FIELD(freq), FIELD(inherit_stat);
  FIELD(enable_on_exec), FIELD(task), FIELD(watermark), FIELD(precise_ip), FIELD(mmap_data);
  FIELD(sample_id_all), FIELD(exclude_host), FIELD(exclude_guest), FIELD(mmap2), FIELD(comm_exec);
  FIELD(use_clockid), FIELD(context_switch), FIELD(write_backward), FIELD(namespaces);
  FIELD(ksymbol), FIELD(bpf_event), FIELD(aux_output), FIELD(cgroup), FIELD(text_poke);
  FIELD(build_id), FIELD(bp_type), FIELD(branch_sample_type), FIELD(aux_sample_size);
  FIELD(sample_regs_user), FIELD(sample_stack_user), FIELD(exclude_callchain_user);
  FIELD(exclude_callchain_kernel), FIELD(sample_max_stack);
#undef FIELD
  return fields;
}

std::string Difference(const AttrFields& ours, const AttrFields& theirs) {
  std::ostringstream text;
  AttrFields all = ours;
  all.insert(theirs.begin(), theirs.end());
  const auto value = [](const AttrFields& fields, const std::string& name) {
    const auto found = fields.find(name);
    return found == fields.end() ? 0 : found->second;
  };
  for (const auto& [name, ignored] : all)
    if (value(ours, name) != value(theirs, name))
      text << name << std::hex << ": ours 0x" << value(ours, name) << ", theirs 0x"
           << value(theirs, name) << "; ";
  return text.str();
}

}  // namespace flowback::test
